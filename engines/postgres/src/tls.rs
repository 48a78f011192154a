//! TLS: whom to trust, who one is, and what it means when the two sides do not come together.

use std::error::Error as StdError;
use std::fs;
use std::future::Future;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base::error::{Error, Kind, Result};
use ring::digest;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{
    CertificateDer, InvalidDnsNameError, PrivateKeyDer, ServerName, alg_id,
};
use tokio_rustls::rustls::{self, AlertDescription, CertificateError, ClientConfig, RootCertStore, crypto};
use tokio_rustls::{TlsConnector, client};

use crate::address::Address;

/// A connection that is encrypted, to a server whose name is proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The PEM file of the CAs that are trusted; those of this machine without one.
    pub(crate) roots: Option<PathBuf>,
    /// PEM files with a certificate of this client and its key.
    pub(crate) client: Option<(PathBuf, PathBuf)>,
}

impl Tls {
    /// What connects this way. It reads all files anew: a certificate may be renewed while a program runs.
    ///
    /// # Errors
    /// `Config` for a file without certificates or without a key; `Permission` for a key that others may read.
    pub(crate) fn connector(&self) -> Result<Connector> {
        let mut roots = RootCertStore::empty();
        if let Some(path) = &self.roots {
            for ca in certificates(path)? {
                roots.add(ca).map_err(|_| wrong(path, "a certificate in it is damaged"))?;
            }
        } else {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                let what = "this machine trusts no CA";
                let hint = "install ca-certificates, or name a file of CAs by sslrootcert=PATH";
                return Err(Error::new(Kind::Config, "TLS", what).hint(hint));
            }
        }
        let provider = Arc::new(crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| Error::new(Kind::Bug, "TLS", e))?
            .with_root_certificates(roots);
        let config = match &self.client {
            None => config.with_no_client_auth(),
            Some((own, key)) => config
                .with_client_auth_cert(certificates(own)?, private_key(key)?)
                .map_err(|_| wrong(key, format!("not the key of the certificate in {}", own.display())))?,
        };
        Ok(Connector(Arc::new(config)))
    }
}

fn wrong(path: &Path, what: impl std::fmt::Display) -> Error {
    Error::new(Kind::Config, path.display(), what)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let text = fs::read(path).map_err(|e| wrong(path, e))?;
    let all: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(wrong(path, "no certificate in it").hint("it has to be a file of certificates in PEM")),
        Err(_) => Err(wrong(path, "a certificate in it is damaged")),
    }
}

/// As libpq: nobody else may read it, but for a group where it is root's.
fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let there = fs::metadata(path).map_err(|e| wrong(path, e))?;
    let others = if there.uid() == 0 { 0o027 } else { 0o077 };
    if there.is_file() && there.mode() & others != 0 {
        let hint = format!("chmod 0600 {}", path.display());
        return Err(Error::new(Kind::Permission, path.display(), "others may read this key").hint(hint));
    }
    let text = fs::read(path).map_err(|e| wrong(path, e))?;
    PrivateKeyDer::from_pem_slice(&text)
        .map_err(|_| wrong(path, "no key in it").hint("it has to be a key in PEM, without a password"))
}

/// Whether a certificate can be for this host at all.
pub(crate) fn is_name(host: &str) -> bool {
    ServerName::try_from(host).is_ok()
}

/// Makes encrypted connections.
#[derive(Clone)]
pub(crate) struct Connector(Arc<ClientConfig>);

/// An encrypted connection to come, to the server of this name.
pub(crate) struct Coming(TlsConnector, ServerName<'static>);

/// An encrypted connection.
pub(crate) struct Encrypted(client::TlsStream<Socket>);

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Encrypted;
    type TlsConnect = Coming;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, name: &str) -> std::result::Result<Coming, InvalidDnsNameError> {
        Ok(Coming(TlsConnector::from(Arc::clone(&self.0)), ServerName::try_from(name.to_owned())?))
    }
}

impl TlsConnect<Socket> for Coming {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move { Ok(Encrypted(self.0.connect(self.1, socket).await?)) })
    }
}

impl TlsStream for Encrypted {
    /// Ties the password to this server's certificate: another server does not accept the same proof.
    fn channel_binding(&self) -> ChannelBinding {
        let (_, tls) = self.0.get_ref();
        let server = tls.peer_certificates().and_then(|all| all.first());
        server
            .and_then(|own| end_point(own))
            .map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, to)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, of: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, of)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// `tls-server-end-point` of RFC 5929: the certificate, hashed by the hash that its own signature uses. `None` where that names none or is not
/// known here; then the password is not tied to the certificate.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let signed = signed_by(certificate)?;
    let by = |all: [&[u8]; 2]| all.contains(&signed);
    let hash = if by([&alg_id::ECDSA_SHA256, &alg_id::RSA_PKCS1_SHA256]) {
        &digest::SHA256
    } else if by([&alg_id::ECDSA_SHA384, &alg_id::RSA_PKCS1_SHA384]) {
        &digest::SHA384
    } else if by([&alg_id::ECDSA_SHA512, &alg_id::RSA_PKCS1_SHA512]) {
        &digest::SHA512
    } else {
        return None;
    };
    Some(digest::digest(hash, certificate).as_ref().to_vec())
}

/// The second of the three parts of a certificate: how it is signed.
fn signed_by(certificate: &[u8]) -> Option<&[u8]> {
    let (parts, _) = value(certificate)?;
    let (_, rest) = value(parts)?;
    Some(value(rest)?.0)
}

/// The first value in DER, and what follows it.
fn value(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[_, length], rest) = der.split_first_chunk()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(length), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            (bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// Why a server was reached and no encrypted connection came about, or one broke for what was in it.
pub(crate) enum Refusal<'e> {
    /// The server has no TLS.
    None,
    /// One of both sides refused.
    Tls(&'e rustls::Error),
}

impl Refusal<'_> {
    /// What an error of the client is, where it is one of TLS.
    pub(crate) fn of(error: &tokio_postgres::Error) -> Option<Refusal<'_>> {
        let mut cause = error.source();
        while let Some(e) = cause {
            let inner = e.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            let inner = inner.and_then(|e| e.downcast_ref::<rustls::Error>());
            if let Some(e) = inner.or_else(|| e.downcast_ref()) {
                return Some(Refusal::Tls(e));
            }
            // The client has no type for it.
            if e.to_string() == "server does not support TLS" {
                return Some(Refusal::None);
            }
            cause = e.source();
        }
        None
    }

    /// The error that a program ends with.
    pub(crate) fn told(&self, at: &Address) -> Error {
        let refused = |what: &str| Error::new(Kind::Permission, at, what);
        match self {
            Refusal::None => {
                refused("the server has no TLS, so nothing was sent").hint("set `ssl = on` on the server")
            }
            Refusal::Tls(rustls::Error::InvalidCertificate(e)) => not_trusted(e, refused),
            Refusal::Tls(rustls::Error::AlertReceived(alert)) => {
                let of_client = [
                    AlertDescription::BadCertificate,
                    AlertDescription::UnsupportedCertificate,
                    AlertDescription::CertificateRevoked,
                    AlertDescription::CertificateExpired,
                    AlertDescription::CertificateUnknown,
                    AlertDescription::CertificateRequired,
                    AlertDescription::UnknownCA,
                    AlertDescription::AccessDenied,
                ];
                if of_client.contains(alert) {
                    let what =
                        format!("the server does not accept the certificate of this client ({alert:?})");
                    refused(&what).hint("sslcert and sslkey name the files with it")
                } else {
                    refused(&format!("the server refuses TLS ({alert:?})"))
                }
            }
            Refusal::Tls(e) => refused(&format!("no TLS with this server: {e}")),
        }
    }
}

/// Names in a certificate of which nobody knows whose it is are not shown.
fn not_trusted(e: &CertificateError, refused: impl Fn(&str) -> Error) -> Error {
    match e {
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            refused("the certificate of the server names no host")
                .hint("give it a subjectAltName; a common name does not count")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            refused("the certificate of the server is for another name")
                .hint("the address has to name the server as its certificate does")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            refused("the certificate of the server has expired")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            // A machine without a clock of its own begins in the past, and its clock is set soon.
            let error = refused("the certificate of the server is not valid yet");
            Error { kind: Kind::Busy, ..error }.hint("is the clock of this machine right?")
        }
        CertificateError::UnknownIssuer => {
            refused("the certificate of the server is of no CA that is trusted here")
                .hint("sslrootcert=PATH names a file with its CA")
        }
        CertificateError::Other(e) if e.to_string() == "CaUsedAsEndEntity" => {
            refused("the certificate of the server is that of a CA")
                .hint("let that CA sign one for the server, and name the CA by sslrootcert=PATH")
        }
        e => refused(&format!("the certificate of the server is not accepted: {e}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A certificate as far as its three parts go.
    fn signed(by: &[u8], long: usize) -> Vec<u8> {
        let of = |tag: u8, inner: &[u8]| {
            let mut all = vec![tag];
            match inner.len() {
                short @ 0..0x80 => all.push(u8::try_from(short).unwrap()),
                long => {
                    all.push(0x82);
                    all.extend(u16::try_from(long).unwrap().to_be_bytes());
                }
            }
            all.extend(inner);
            all
        };
        of(0x30, &[of(0x30, &vec![7; long]), of(0x30, by), of(3, &[0, 1])].concat())
    }

    #[test]
    fn a_password_is_tied_to_the_certificate_by_the_hash_of_its_signature() {
        for (by, hash) in [
            (alg_id::ECDSA_SHA256, &digest::SHA256),
            (alg_id::RSA_PKCS1_SHA256, &digest::SHA256),
            (alg_id::ECDSA_SHA384, &digest::SHA384),
            (alg_id::RSA_PKCS1_SHA384, &digest::SHA384),
            (alg_id::ECDSA_SHA512, &digest::SHA512),
            (alg_id::RSA_PKCS1_SHA512, &digest::SHA512),
        ] {
            for long in [5, 127, 128, 900] {
                let certificate = signed(&by, long);
                assert_eq!(end_point(&certificate).unwrap(), digest::digest(hash, &certificate).as_ref());
            }
        }
        assert_eq!(end_point(&signed(&alg_id::ED25519, 5)), None);
        assert_eq!(end_point(&signed(&alg_id::RSA_PSS_SHA256, 5)), None);
        let whole = signed(&alg_id::ECDSA_SHA256, 900);
        for cut in 0..905 {
            assert_eq!(end_point(&whole[..cut]), None, "{cut}");
        }
        assert_eq!(end_point(&[0x30, 0x85, 1, 1, 1, 1, 1]), None);
        assert_eq!(end_point(&[0x30, 0x80, 0x30, 0x00]), None);
    }

    #[test]
    fn a_file_that_is_none_of_cas_is_refused_before_any_server_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        let garbled = "-----BEGIN CERTIFICATE-----\n####\n-----END CERTIFICATE-----\n";
        let no_ca = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        for (name, text, word) in [
            ("none.pem", None, "No such file"),
            ("empty.pem", Some(""), "no certificate in it; it has to be"),
            ("words.pem", Some("geheim\n"), "no certificate in it; it has to be"),
            ("key.pem", Some(key), "no certificate in it; it has to be"),
            ("garbled.pem", Some(garbled), "damaged"),
            ("short.pem", Some(no_ca), "damaged"),
            (".", None, "directory"),
        ] {
            let path = folder.path().join(name);
            if let Some(text) = text {
                fs::write(&path, text).unwrap();
            }
            let error = Tls { roots: Some(path.clone()), client: None }.connector().err().unwrap();
            assert_eq!(error.kind, Kind::Config, "{name}: {error}");
            let text = error.to_string();
            assert!(text.starts_with(&path.display().to_string()) && text.contains(word), "{text}");
            assert!(!text.contains('\n') && !text.contains("geheim"), "{text}");
        }
    }

    #[test]
    fn a_certificate_that_is_not_accepted_is_told_in_one_line_with_no_word_of_its_own() {
        let at = Address::read("postgres://luna@db.lan/agents").unwrap();
        let name = |presented: &[&str]| CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("db.lan").unwrap(),
            presented: presented.iter().map(|p| (*p).to_owned()).collect(),
        };
        for (e, kind, what) in [
            (name(&["DnsName(\"evil.lan\")"]), Kind::Permission, "is for another name; the address has to"),
            (name(&[]), Kind::Permission, "names no host; give it a subjectAltName"),
            // A machine that just started has a wrong clock for a while.
            (CertificateError::NotValidYet, Kind::Busy, "is not valid yet; is the clock"),
            (CertificateError::BadSignature, Kind::Permission, "is not accepted: BadSignature"),
        ] {
            let error = Refusal::Tls(&rustls::Error::InvalidCertificate(e)).told(&at);
            let text = error.to_string();
            let front = "postgres://luna@db.lan/agents: the certificate of the server ";
            assert_eq!(error.kind, kind, "{text}");
            assert!(text.starts_with(&format!("{front}{what}")) && !text.contains("evil"), "{text}");
        }
        let alert = rustls::Error::AlertReceived(AlertDescription::ProtocolVersion);
        let text = Refusal::Tls(&alert).told(&at).to_string();
        assert!(text.ends_with("the server refuses TLS (ProtocolVersion)"), "{text}");
    }
}
