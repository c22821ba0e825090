//! A certificate authority for tests, and server certificates that are right or wrong in one way each.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, SanType,
};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use time::{Duration, OffsetDateTime};

/// Why a certificate or a TLS configuration could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CertError {
    /// The certificate could not be generated.
    #[error("could not generate a test certificate: {0}")]
    Generate(#[from] rcgen::Error),
    /// rustls refused the certificate, the key or the settings.
    #[error("could not set up TLS with a test certificate: {0}")]
    Tls(#[from] rustls::Error),
    /// A text is no certificate.
    #[error("could not read a certificate from PEM: {0}")]
    Pem(#[from] pem::Error),
}

/// A certificate authority that nobody trusts unless told. Its key lives in memory only.
#[derive(Debug)]
pub struct Ca {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A server's certificate with its key.
#[derive(Debug)]
pub struct Identity {
    certificate: Certificate,
    key: KeyPair,
}

impl Ca {
    /// A fresh authority, valid from yesterday for thirty days. Its subject differs from every server's, as a
    /// certificate that names itself as issuer is taken for a self-signed one.
    pub fn new() -> Result<Self, CertError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name.push(DnType::CommonName, "probehost test CA");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        valid(&mut params, -1, 30);
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// The authority's certificate as PEM, for a file that a client is told to trust.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// The authority's certificate as DER.
    pub fn der(&self) -> CertificateDer<'static> {
        self.issuer.der().clone()
    }

    /// For `localhost` and 127.0.0.1, valid from yesterday for another 20 days.
    pub fn good(&self) -> Result<Identity, CertError> {
        self.issue(loopback()?, -1, 20)
    }

    /// As [`Ca::good`], with `days` left until it expires.
    pub fn good_for_days(&self, days: i64) -> Result<Identity, CertError> {
        self.issue(loopback()?, -1, days)
    }

    /// For the right host; it ran out yesterday.
    pub fn expired(&self) -> Result<Identity, CertError> {
        self.issue(loopback()?, -10, -1)
    }

    /// For the right host; it becomes valid tomorrow.
    pub fn not_yet_valid(&self) -> Result<Identity, CertError> {
        self.issue(loopback()?, 1, 20)
    }

    /// Valid today, for a host that is not the one dialled.
    pub fn wrong_host(&self) -> Result<Identity, CertError> {
        self.issue(CertificateParams::new(vec!["somewhere-else.test".to_owned()])?, -1, 20)
    }

    /// A client's certificate, valid from yesterday for another 20 days.
    pub fn client(&self) -> Result<Identity, CertError> {
        let mut params = CertificateParams::new(Vec::new())?;
        describe(&mut params, -1, 20);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params)
    }

    /// A client's settings that trust this authority alone, for HTTP/1.1.
    pub fn client_config(&self) -> Result<Arc<ClientConfig>, CertError> {
        trusting(self.der())
    }

    fn issue(
        &self,
        mut params: CertificateParams,
        from_day: i64,
        to_day: i64,
    ) -> Result<Identity, CertError> {
        describe(&mut params, from_day, to_day);
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Result<Identity, CertError> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Identity { certificate, key })
    }
}

impl Identity {
    /// For the right host and valid today, signed by nobody but itself.
    pub fn self_signed() -> Result<Self, CertError> {
        let mut params = loopback()?;
        describe(&mut params, -1, 20);
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        Ok(Self { certificate, key })
    }

    /// The certificate as PEM, for a server's file.
    pub fn cert_pem(&self) -> String {
        self.certificate.pem()
    }

    /// The key as PEM, for a server's file.
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// A server's settings with this certificate, for HTTP/1.1.
    pub fn server_config(self) -> Result<Arc<ServerConfig>, CertError> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(
                vec![self.certificate.der().clone()],
                PrivateKeyDer::from(self.key),
            )?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// A client's settings that trust one authority alone, given as the PEM text of a file.
pub fn trusting_pem(pem: &str) -> Result<Arc<ClientConfig>, CertError> {
    trusting(CertificateDer::from_pem_slice(pem.as_bytes())?)
}

fn trusting(authority: CertificateDer<'static>) -> Result<Arc<ClientConfig>, CertError> {
    let mut roots = RootCertStore::empty();
    roots.add(authority)?;
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Named, as a process with two providers linked in has no default one.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn loopback() -> Result<CertificateParams, CertError> {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()])?;
    params.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    Ok(params)
}

fn describe(params: &mut CertificateParams, from_day: i64, to_day: i64) {
    params.distinguished_name.push(DnType::CommonName, "probehost test server");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    valid(params, from_day, to_day);
}

/// Sets the validity, in days from now.
fn valid(params: &mut CertificateParams, from_day: i64, to_day: i64) {
    let now = OffsetDateTime::now_utc();
    params.not_before = now + Duration::days(from_day);
    params.not_after = now + Duration::days(to_day);
}
