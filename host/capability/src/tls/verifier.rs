//! Who judges the certificates that servers show.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WantsClientCert, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, OtherError,
    SignatureScheme,
};

use super::Roots;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// What judges certificates; None when nothing is trusted, so that no server could be.
pub(crate) fn judge(roots: &Roots) -> Result<Option<Arc<WebPkiServerVerifier>>, rustls::Error> {
    if roots.0.is_empty() {
        return Ok(None);
    }
    judge_of(roots).map(Some)
}

/// The same, where there is something to trust.
pub(crate) fn judge_of(roots: &Roots) -> Result<Arc<WebPkiServerVerifier>, rustls::Error> {
    WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots.0), provider())
        .build()
        .map_err(|error| rustls::Error::General(error.to_string()))
}

/// A configuration that takes only a certificate that `judge` finds good.
pub(crate) fn verifying(judge: Arc<WebPkiServerVerifier>) -> Result<Begun, rustls::Error> {
    begin(Arc::new(Verifier(judge)))
}

/// A configuration that takes any certificate.
pub(crate) fn inspecting() -> Result<Begun, rustls::Error> {
    begin(Arc::new(AnyCertificate(provider())))
}

/// A configuration that has yet to be told how this side shows itself.
type Begun = ConfigBuilder<ClientConfig, WantsClientCert>;

fn begin(verifier: Arc<dyn ServerCertVerifier>) -> Result<Begun, rustls::Error> {
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier))
}

/// The configuration of all probes that speak these protocols, the best first.
pub(crate) fn for_probes(begun: Begun, alpn: &[&str]) -> Arc<ClientConfig> {
    let mut config = begun.with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    // Each probe has to see the certificate that the server has now.
    config.resumption = Resumption::disabled();
    Arc::new(config)
}

/// Decides as webpki does, and hands out the certificate that was refused: its dates are what
/// people want to know of it, and rustls keeps only those that were good.
#[derive(Debug)]
struct Verifier(Arc<WebPkiServerVerifier>);

/// A certificate that was refused.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub(super) struct Refused {
    pub(super) cause: rustls::Error,
    pub(super) certificate: CertificateDer<'static>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.0
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            .map_err(|cause| {
                let certificate = end_entity.clone().into_owned();
                let refused = OtherError(Arc::new(Refused { cause, certificate }));
                rustls::Error::InvalidCertificate(CertificateError::Other(refused))
            })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// Takes every certificate, as long as the server has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
