//! Lists of targets, page by page and narrowed down: contract E3.

use probehost_model::{Outcome, Reason, Source, Status, Target};
use probehost_store::{TargetFilter, Write};

use crate::backend::{Backend, on_both};
use crate::common::{Fixture, at, fail, seen, target};

fn labelled(id: &str, labels: &[(&str, &str)]) -> Target {
    let mut target = target(id, &["head"]);
    target.name = format!("The {}", id.to_uppercase());
    for (label, value) in labels {
        target.labels.insert((*label).to_owned(), (*value).to_owned());
    }
    assert_eq!(target.source, Source::File);
    target
}

async fn ids(fixture: &Fixture, filter: TargetFilter) -> Vec<String> {
    let page = fixture.store.targets_page(&filter).await.unwrap();
    page.into_iter().map(|stored| stored.target.id).collect()
}

async fn fleet(on: Backend) -> Fixture {
    let fixture = Fixture::new(on).await;
    let mut off = labelled("d-off", &[("team", "ops")]);
    off.enabled = false;
    let mut other = labelled("e-ssh", &[("team", "o\"ps"), ("odd key.$", "x")]);
    other.checks[0].kind = "ssh-handshake".to_owned();
    let targets = vec![
        labelled("a-web", &[("team", "sales"), ("tier", "1")]),
        labelled("b-web", &[("team", "sales")]),
        labelled("c-none", &[]),
        off,
        other,
    ];
    fixture.sync(targets, 0).await;
    for (id, outcome) in [("a-web", Outcome::Pass), ("b-web", fail(Reason::HostKey))] {
        let mut write: Write = seen(1, outcome);
        write.check.target = id.to_owned();
        fixture.record(write).await;
    }
    fixture
}

/// E3: a page ends where the next begins, and no target is there twice or missing.
async fn pages_follow_each_other(on: Backend) {
    let fixture = fleet(on).await;
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = ids(&fixture, TargetFilter { limit: 2, after, ..Default::default() }).await;
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        after = Some(last.clone());
        seen.extend(page);
    }
    assert_eq!(seen, ["a-web", "b-web", "c-none", "d-off", "e-ssh"]);
}

/// E3: each filter narrows the list down, and all of them together.
async fn filters_narrow_the_list_down(on: Backend) {
    let fixture = fleet(on).await;
    let label = |label: &str, value: &str| TargetFilter {
        labels: vec![(label.to_owned(), value.to_owned())],
        ..Default::default()
    };
    assert_eq!(ids(&fixture, label("team", "sales")).await, ["a-web", "b-web"]);
    assert_eq!(ids(&fixture, label("team", "o\"ps")).await, ["e-ssh"]);
    assert_eq!(ids(&fixture, label("odd key.$", "x")).await, ["e-ssh"]);
    let mut both = label("team", "sales");
    both.labels.push(("tier".to_owned(), "1".to_owned()));
    assert_eq!(ids(&fixture, both).await, ["a-web"]);

    let status =
        |status| ids(&fixture, TargetFilter { status: Some(status), ..Default::default() });
    assert_eq!(status(Status::Healthy).await, ["a-web"]);
    assert_eq!(status(Status::Unhealthy).await, ["b-web"]);
    assert_eq!(status(Status::Unknown).await, ["c-none", "d-off", "e-ssh"]);

    let kind = TargetFilter { kind: Some("ssh-handshake".to_owned()), ..Default::default() };
    assert_eq!(ids(&fixture, kind).await, ["e-ssh"]);
    let off = TargetFilter { enabled: Some(false), ..Default::default() };
    assert_eq!(ids(&fixture, off.clone()).await, ["d-off"]);
    assert_eq!(ids(&fixture, TargetFilter { managed: Some(true), ..off }).await, [""; 0]);
    let managed = TargetFilter { managed: Some(false), ..Default::default() };
    assert_eq!(ids(&fixture, managed).await.len(), 5);
    let text = |text: &str| TargetFilter { text: Some(text.to_owned()), ..Default::default() };
    assert_eq!(ids(&fixture, text("WEB")).await, ["a-web", "b-web"]);
    assert_eq!(ids(&fixture, text("the c-")).await, ["c-none"]);
    assert_eq!(ids(&fixture, text("%")).await, [""; 0], "no pattern, a text");
    let since = |micros| TargetFilter { changed_since: Some(at(micros)), ..Default::default() };
    assert_eq!(ids(&fixture, since(0)).await.len(), 5);
    assert_eq!(ids(&fixture, since(1)).await, ["a-web", "b-web"], "they were probed");
    assert_eq!(ids(&fixture, since(2)).await, [""; 0]);
    let all = TargetFilter { status: Some(Status::Unhealthy), ..label("team", "sales") };
    assert_eq!(ids(&fixture, TargetFilter { text: Some("b-".to_owned()), ..all }).await, ["b-web"]);
}

on_both!(pages_follow_each_other, filters_narrow_the_list_down);
