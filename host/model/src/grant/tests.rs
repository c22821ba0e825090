//! Tables of what is granted and what is not.

use super::*;
use crate::Scheme;
use serde_json::json;

fn http(scheme: Scheme, host: &str, port: u16) -> Endpoint {
    Endpoint::Http(Origin { scheme, host: host.to_owned(), port })
}

/// Reads an endpoint as `Display` writes it.
fn endpoint(text: &str) -> Endpoint {
    let host_port = |rest: &str| {
        let (host, port) = rest.rsplit_once(':').unwrap();
        (host.trim_matches(['[', ']']).to_owned(), port.parse().unwrap())
    };
    match text.split_once(':').unwrap() {
        ("http", rest) => {
            let (host, port) = host_port(&rest[2..]);
            http(Scheme::Http, &host, port)
        }
        ("https", rest) => {
            let (host, port) = host_port(&rest[2..]);
            http(Scheme::Https, &host, port)
        }
        ("tcp", rest) => {
            let (host, port) = host_port(&rest[2..]);
            Endpoint::Tcp { host, port }
        }
        ("udp", rest) => {
            let (host, port) = host_port(&rest[2..]);
            Endpoint::Udp { host, port }
        }
        ("ssh", rest) => {
            let (host, port) = host_port(&rest[2..]);
            Endpoint::Ssh { host, port }
        }
        ("container", name) => Endpoint::Container(name.to_owned()),
        ("process", name) => Endpoint::Process(name.to_owned()),
        ("dns", name) => Endpoint::Dns(name.to_owned()),
        other => panic!("{other:?}"),
    }
}

/// G2: what each form of grant lets through, and what it does not.
#[test]
fn patterns_match() {
    for (pattern, yes, no) in [
        ("http://example.com", "http://example.com:80", "https://example.com:80"),
        ("https://example.com", "https://EXAMPLE.com.:443", "https://example.com:8443"),
        ("https://Example.COM.:443", "https://example.com:443", "https://www.example.com:443"),
        ("https://*.example.com", "https://a.b.example.com:443", "https://example.com:443"),
        ("https://*.example.com", "https://a.example.com:443", "https://badexample.com:443"),
        ("https://*.example.com", "https://a.example.com:443", "https://example.com.evil.org:443"),
        (
            "https://bücher.example",
            "https://xn--bcher-kva.example:443",
            "https://bucher.example:443",
        ),
        ("tcp://*:5432", "tcp://db:5432", "tcp://db:5433"),
        ("tcp://*:5432", "tcp://10.0.0.1:5432", "ssh://10.0.0.1:5432"),
        ("tcp://db:8000-8999", "tcp://db:8000", "tcp://db:9000"),
        ("tcp://db:8000-8999", "tcp://db:8999", "tcp://db:7999"),
        ("tcp://db:*", "tcp://db:1", "tcp://dbx:1"),
        ("*://db:*", "ssh://db:22", "container:db"),
        ("*://db:*", "udp://db:53", "dns:db"),
        ("udp://*.internal:53", "udp://ns1.internal:53", "tcp://ns1.internal:53"),
        ("udp://ntp.example:123", "udp://NTP.example.:123", "udp://ntp.example:124"),
        ("udp://10.0.0.0/8:100-200", "udp://10.9.9.9:161", "udp://11.0.0.1:161"),
        ("udp://[2001:db8::1]:53", "udp://2001:db8:0::1:53", "udp://2001:db8::2:53"),
        ("tcp://ns1:53", "tcp://ns1:53", "udp://ns1:53"),
        ("tcp://example.com:1", "tcp://example.com:1", "tcp://ex%61mple.com:1"),
        ("tcp://*.internal:1", "tcp://a.internal:1", "tcp://a%2einternal:1"),
        ("dns:example.com", "dns:example.com", "dns:ex%61mple.com"),
        ("ssh://10.1.2.3:22", "ssh://10.1.2.3:22", "ssh://10.1.2.4:22"),
        ("ssh://10.1.2.3:22", "ssh://::ffff:10.1.2.3:22", "ssh://host:22"),
        ("tcp://[2001:db8::1]:1", "tcp://2001:db8:0:0::1:1", "tcp://2001:db8::2:1"),
        ("tcp://[::ffff:10.0.0.1]:1", "tcp://10.0.0.1:1", "tcp://10.0.0.2:1"),
        ("tcp://10.0.0.0/8:1", "tcp://10.255.0.1:1", "tcp://11.0.0.1:1"),
        ("tcp://10.0.0.0/8:1", "tcp://::ffff:10.0.0.1:1", "tcp://name:1"),
        ("tcp://0.0.0.0/0:1", "tcp://9.9.9.9:1", "tcp://2001:db8::1:1"),
        ("tcp://[fd00::/8]:1", "tcp://fd12::1:1", "tcp://fe12::1:1"),
        ("tcp://[::ffff:10.0.0.0/104]:1", "tcp://10.9.9.9:1", "tcp://11.0.0.1:1"),
        ("container:web", "container:web", "container:web2"),
        ("container:*", "container:anything", "process:anything"),
        ("process:backup", "process:backup", "process:Backup"),
        ("dns:example.com", "dns:EXAMPLE.com.", "dns:www.example.com"),
        ("dns:*.example.com", "dns:www.example.com", "dns:example.com"),
        ("dns:*", "dns:anything", "tcp://anything:53"),
    ] {
        let parsed: Pattern = pattern.parse().unwrap();
        assert!(parsed.matches(&endpoint(yes)), "{pattern} must grant {yes}");
        assert!(!parsed.matches(&endpoint(no)), "{pattern} must not grant {no}");
        let again: Pattern = parsed.to_string().parse().unwrap();
        assert_eq!(again, parsed, "{pattern} reads back from {parsed}");
    }
}

/// The rows of the table of `docs/grants.md` whose head begins so: their cells, without the
/// backquotes.
fn rows(head: &str) -> Vec<[String; 3]> {
    const PAGE: &str = include_str!("../../../../docs/grants.md");
    let table = PAGE.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    table
        .take_while(|line| line.starts_with('|'))
        .filter(|line| !line.starts_with("| **"))
        .map(|line| {
            let mut cells = line.trim_matches('|').split(" | ").map(str::trim);
            [(); 3].map(|()| cells.next().unwrap().trim_matches(['|', ' ', '`']).to_owned())
        })
        .collect()
}

/// G2: the page for operators is right, row by row.
#[test]
fn the_page_is_right() {
    let table = rows("| grant | reaches");
    assert!(table.len() > 20, "{table:?}");
    for [grant, yes, no] in table {
        let pattern: Pattern = grant.parse().unwrap();
        assert!(pattern.matches(&endpoint(&yes)), "{grant} must grant {yes}");
        assert!(!pattern.matches(&endpoint(&no)), "{grant} must not grant {no}");
    }
}

/// G3: what the page says of where a name leads.
#[test]
fn the_page_is_right_about_addresses() {
    let table = rows("| grant | a name that leads to");
    assert!(table.len() > 10, "{table:?}");
    for [grant, address, dialled] in table {
        let grants = Grants::new([], vec![grant.parse().unwrap()]);
        let asked = endpoint("http://name.example:80");
        let admitted = grants.admits_address(&asked, address.parse().unwrap());
        assert_eq!(admitted.is_ok(), dialled == "yes", "{grant} {address}");
    }
}

/// Each error says what is wrong, and the example in it is right.
#[test]
fn errors_show_a_right_example() {
    for (text, says) in [
        ("", "does not say what it grants"),
        ("example.com", "does not say what it grants"),
        ("example.com:443", "does not say what it grants"),
        ("ftp://example.com:21", "unknown scheme"),
        ("HTTP://example.com", "unknown scheme"),
        ("https://", "no valid host"),
        ("https://exa mple.com", "no valid host"),
        ("https://ex*mple.com", "no valid host"),
        ("https://ex%61mple.com", "no valid host"),
        ("https://*.*.com", "no valid host"),
        ("https://*.10.0.0.1", "no valid host"),
        ("https://::1", "no valid host"),
        ("https://[::1", "no valid host"),
        ("https://[example.com]", "no valid host"),
        ("https://example.com/", "goes on after host and port"),
        ("https://example.com/health", "goes on after host and port"),
        ("https://example.com:443/health", "goes on after host and port"),
        ("https://user@example.com", "goes on after host and port"),
        ("tcp://db", "tcp has no default"),
        ("udp://db", "udp has no default"),
        ("udp://db:0", "no valid port"),
        ("ssh://db", "ssh has no default"),
        ("*://db", "any scheme has no default"),
        ("tcp://db:", "no valid port"),
        ("tcp://db:0", "no valid port"),
        ("tcp://db:65536", "no valid port"),
        ("tcp://db:+80", "no valid port"),
        ("tcp://db:90-80", "no valid port"),
        ("tcp://10.1.2.3/8:1", "\"tcp://10.0.0.0/8:1\""),
        ("tcp://10.0.0.0/33:1", "\"tcp://10.0.0.0/32:1\""),
        ("tcp://[fd00::1/8]:1", "\"tcp://[fd00::/8]:1\""),
        ("container:", "no valid name"),
        ("container:we*b", "no valid name"),
        ("dns:10.0.0.1", "no valid name"),
    ] {
        let error = text.parse::<Pattern>().unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
        let example = error.rsplit("for example").next().unwrap().split('"').nth(1).unwrap();
        assert!(example.parse::<Pattern>().is_ok(), "{text}: {example}");
    }
}

/// G2: what a config names, and what a plugin only claims that it names.
#[test]
fn configs_name_endpoints() {
    for (config, asked, named) in [
        (json!({"url": "http://example.com/health"}), "http://example.com:80", true),
        (json!({"url": "http://example.com/health"}), "https://example.com:443", true),
        (json!({"url": "http://example.com/health"}), "http://example.com:8080", false),
        (json!({"url": "http://example.com:8080"}), "http://example.com:8080", true),
        (json!({"url": "http://example.com:8080"}), "http://example.com:80", false),
        (json!({"url": "http://EXAMPLE.com."}), "http://example.com:80", true),
        (json!({"url": "http://example.com"}), "http://evil.org:80", false),
        (json!({"url": "http://example.com@evil.org"}), "http://example.com:80", false),
        (json!({"url": "http://example.com/?next=http://evil.org"}), "http://evil.org:80", false),
        (json!({"text": "see http://evil.org for more"}), "http://evil.org:80", false),
        (json!({"evil.org": 80}), "http://evil.org:80", false),
        (json!({"host": "db", "port": 5432}), "tcp://db:5432", true),
        (json!({"host": "db", "port": 5432}), "tcp://db:5433", false),
        (json!({"host": "db", "port": 5432.5}), "tcp://db:5432", false),
        (json!({"host": "db"}), "tcp://db:5432", false),
        (json!({"port": 5432}), "tcp://db:5432", false),
        (json!({"nodes": [{"at": "db:5432"}, {"at": "db2:5433"}]}), "tcp://db2:5433", true),
        (json!({"nodes": [{"at": "db:5432"}, {"at": "db2:5433"}]}), "tcp://db2:5432", false),
        (json!({"at": "[2001:db8::1]:5432"}), "tcp://2001:db8::1:5432", true),
        (json!({"at": "2001:db8::1", "p": 7}), "tcp://2001:db8:0::1:7", true),
        (json!({"url": "http://[::1]:8080/"}), "http://::1:8080", true),
        (json!({"url": "http://2130706433/"}), "http://127.0.0.1:80", true),
        (json!({"url": "http://ex%61mple.com"}), "http://example.com:80", true),
        (json!({"at": "example.com:1"}), "tcp://ex%61mple.com:1", false),
        (json!({"at": "ex%61mple.com:1"}), "tcp://ex%61mple.com:1", false),
        (json!({"at": "ns1:53"}), "udp://ns1:53", true),
        (json!({"at": "ns1:53"}), "udp://ns1:54", false),
        (json!({"at": "ns1"}), "udp://ns1:53", false),
        (json!({"host": "ns1", "port": 53}), "udp://ns1:53", true),
        (json!({"host": "bastion"}), "ssh://bastion:22", true),
        (json!({"host": "bastion"}), "ssh://bastion:2222", false),
        (json!({"url": "ssh://git.example.com"}), "ssh://git.example.com:22", true),
        (json!({"name": "web"}), "container:web", true),
        (json!({"name": "web"}), "container:we", false),
        (json!({"web": "name"}), "container:web", false),
        (json!({"command": "backup"}), "process:backup", true),
        (json!({"ask": "Example.com."}), "dns:example.com", true),
        (json!({"ask": "example.com"}), "dns:www.example.com", false),
        (json!("example.com"), "http://example.com:80", true),
        (json!(null), "http://example.com:80", false),
    ] {
        assert_eq!(named_in(&config, &endpoint(asked)), named, "{config} names {asked}");
    }
}

/// G2: nothing is granted by nothing; the config's own and the operator's list are.
#[test]
fn grants_are_the_sum_of_both() {
    assert!(!Grants::default().allows(&endpoint("http://example.com:80")));
    let grants = Grants::new(
        [endpoint("http://Example.com.:80")],
        vec!["tcp://*.internal:*".parse().unwrap()],
    );
    assert!(grants.allows(&endpoint("http://example.com:80")));
    assert!(grants.allows(&endpoint("http://EXAMPLE.com:80")));
    assert!(!grants.allows(&endpoint("http://example.com:81")));
    assert!(grants.allows(&endpoint("tcp://db.internal:5432")));
    assert!(!grants.allows(&endpoint("tcp://internal:5432")));
}

/// G2: a name is resolved for whoever may connect to it at some port, or may ask for it.
#[test]
fn names_are_granted_with_their_endpoints() {
    let named = ["tcp://DB.:5432", "https://web:443", "dns:zone", "ssh://bastion:22"];
    let allowed = ["tcp://*.internal:6379", "ssh://jump:*", "dns:mail"];
    let grants = Grants::new(
        named.map(endpoint),
        allowed.iter().map(|pattern| pattern.parse().unwrap()).collect(),
    );
    for (name, granted) in [
        ("db", true),
        ("Db.", true),
        ("web", true),
        ("zone", true),
        ("cache.internal", true),
        ("mail", true),
        ("bastion", false),
        ("jump", false),
        ("internal", false),
        ("db.evil", false),
        ("", false),
    ] {
        assert_eq!(grants.allows_name(name), granted, "{name}");
    }
    let all = Grants::new([], vec!["*://*:*".parse().unwrap()]);
    assert!(all.allows_name("anything"));
    assert!(!Grants::default().allows_name("anything"));
}

/// G3: addresses that need a literal grant, in every form that carries them.
#[test]
fn special_addresses_need_a_literal_grant() {
    let wide = Grants::new(
        [endpoint("http://example.com:80")],
        vec!["*://*:*".parse().unwrap(), "http://169.254.0.0/16:*".parse().unwrap()],
    );
    for address in [
        "169.254.169.254",
        "169.254.1.1",
        "100.100.100.200",
        "192.0.0.192",
        "0.0.0.0",
        "0.1.2.3",
        "224.0.0.1",
        "239.255.255.255",
        "255.255.255.255",
        "::",
        "fe80::1",
        "febf::1",
        "ff02::1",
        "fd00:ec2::254",
        "::ffff:169.254.169.254",
        "::169.254.169.254",
        "::ffff:0.0.0.0",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "64:ff9b:1:a9fe:a9:fe00::",
        "64:ff9b:1:a9:fe:a9fe::",
        "64:ff9b:1:abcd:a9:fea9:fe00::",
        "2002:a9fe:a9fe::1",
        "2002:e000:1::",
    ] {
        let ip: IpAddr = address.parse().unwrap();
        let asked = ["http://example.com:80", "udp://example.com:80"].map(str::to_owned);
        for asked in asked.into_iter().chain([format!("http://{address}:80")]) {
            let asked = endpoint(&asked);
            assert!(wide.allows(&asked));
            let refused = wide.admits_address(&asked, ip).unwrap_err();
            // What the refusal says to grant is what is needed.
            let line = refused.endpoint().to_string();
            let granted = Grants::new([], vec![line.parse().unwrap()]);
            assert_eq!(granted.admits_address(&asked, ip), Ok(()), "{line}");
            let named = Grants::new([refused.endpoint().clone()], vec![]);
            assert_eq!(named.admits_address(&asked, ip), Ok(()), "{line}");
            let other_port = endpoint(&line.replace(":80", ":81"));
            assert!(Grants::new([other_port], vec![]).admits_address(&asked, ip).is_err());
        }
    }
    for address in [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "192.0.0.191",
        "100.100.100.201",
        "8.8.8.8",
        "::1",
        "fd00::1",
        "2001:db8::1",
        "::ffff:10.0.0.1",
        "64:ff9b::808:808",
        "64:ff9b:1::808:808",
        "2002:808:808::1",
        "fd00:ec2::253",
    ] {
        let asked = endpoint("http://example.com:80");
        assert_eq!(wide.admits_address(&asked, address.parse().unwrap()), Ok(()), "{address}");
    }
}

/// The refusal names what was asked for, the address and its kind.
#[test]
fn a_refusal_speaks() {
    let asked = endpoint("http://example.com:80");
    let refused =
        Grants::default().admits_address(&asked, "169.254.169.254".parse().unwrap()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "http://example.com:80 leads to 169.254.169.254, a cloud metadata address, which only a grant of that very address allows"
    );
    assert_eq!(refused.endpoint().to_string(), "http://169.254.169.254:80");
}

/// G2: a line that can be pasted, whatever a guest put into the name.
#[test]
fn grant_lines_are_toml() {
    assert_eq!(
        grant_line("http-head", &endpoint("https://example.com:443")),
        "allow = [\"https://example.com:443\"] under [plugins.http-head]"
    );
    assert_eq!(
        grant_line("x", &Endpoint::Container("a\"]\nb\\".to_owned())),
        "allow = [\"container:a\\\"]\\u000Ab\\\\\"] under [plugins.x]"
    );
    assert_eq!(
        grant_line("dns-answer", &endpoint("udp://::1:53")),
        "allow = [\"udp://[::1]:53\"] under [plugins.dns-answer]"
    );
    assert_eq!(
        grant_line("odd name", &endpoint("tcp://::1:22")),
        "allow = [\"tcp://[::1]:22\"] under [plugins.\"odd name\"]"
    );
}
