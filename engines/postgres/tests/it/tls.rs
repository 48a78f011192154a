//! A server that proves its name by a certificate, and others that cannot.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use base::error::{Error, Kind};
use board::{Board, Mode, Status};
use postgres::{Client, NoTls};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned, crypto};
use watchbill_postgres::{PostgresBoard, Secrets};

use crate::races::{add, look};
use crate::server::{PATIENCE, Place, Server, listening, passwords};

const SHORT: Duration = Duration::from_millis(300);

/// What `openssl ca` wants to know. Another hash than the usual one: a password is tied to the certificate by it.
const OPENSSL: &str = "[ca]\ndefault_ca = own\n[own]\ndatabase = index.txt\nnew_certs_dir = .\ndefault_md = sha384\npolicy = names\n\
copy_extensions = copyall\nrand_serial = yes\nunique_subject = no\n[names]\ncommonName = supplied\n[req]\ndistinguished_name = none\n[none]\n";

/// A server with TLS, and the folder with certificates for it and for others.
pub struct Secure {
    pub server: Server,
    certificates: PathBuf,
}

/// The server of all tests of TLS; it ends with this process.
pub fn secure() -> Option<&'static Secure> {
    static SERVER: OnceLock<Option<Secure>> = OnceLock::new();
    SERVER.get_or_init(|| Some(Secure::of(listening()?, "127.0.0.1"))).as_ref()
}

impl Secure {
    /// A server that listens at this address, from here on with TLS.
    pub fn of(server: Server, address: &str) -> Secure {
        let secure = Secure { certificates: server.folder.join("tls"), server };
        fs::create_dir(&secure.certificates).unwrap();
        fs::write(secure.file("openssl.cnf"), OPENSSL).unwrap();
        fs::write(secure.file("index.txt"), "").unwrap();
        let here = &format!("subjectAltName=IP:{address},DNS:db.lan");
        secure.ca("ca");
        secure.ca("other");
        secure.signed("server", "db.lan", here, "ca", "20490101");
        secure.signed("expired", "db.lan", here, "ca", "20210101");
        secure.signed("nameless", "127.0.0.1", "keyUsage=digitalSignature", "ca", "20490101");
        secure.signed("luna", "luna_cert", "keyUsage=digitalSignature", "ca", "20490101");
        secure.signed("stranger", "luna_cert", "keyUsage=digitalSignature", "other", "20490101");

        // The server reads its own files alone.
        let owner = fs::metadata(&secure.server.folder).unwrap();
        let owned = |path: &Path| chown(path, Some(owner.uid()), Some(owner.gid())).unwrap();
        owned(&secure.certificates);
        owned(&secure.file("server.key"));
        let who = "local all watchbill trust\nlocal all all scram-sha-256\nhostssl all watchbill all trust\n\
            hostssl all luna_cert all cert\nhostssl all all all scram-sha-256\n";
        fs::write(secure.server.folder.join("data/pg_hba.conf"), who).unwrap();
        let mut hand = secure.hand();
        for (name, value) in [
            ("ssl_cert_file", secure.file("server.pem").display().to_string()),
            ("ssl_key_file", secure.file("server.key").display().to_string()),
            ("ssl_ca_file", secure.file("ca.pem").display().to_string()),
            ("ssl", "on".to_owned()),
        ] {
            hand.batch_execute(&format!("ALTER SYSTEM SET {name} = '{value}'")).unwrap();
        }
        hand.batch_execute("CREATE ROLE luna_cert LOGIN; CREATE ROLE luna LOGIN PASSWORD 'geheim'").unwrap();
        hand.batch_execute("SELECT pg_reload_conf()").unwrap();
        let is_on = || secure.hand().query_one("SHOW ssl", &[]).unwrap().get::<_, &str>(0) == "on";
        assert!((0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            is_on()
        }));
        secure
    }

    fn file(&self, name: &str) -> PathBuf {
        self.certificates.join(name)
    }

    fn openssl(&self, args: &[&str]) {
        let done = Command::new("openssl").args(args).current_dir(&self.certificates).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Asks for a certificate with a new key.
    fn asked(&self, name: &str, subject: &str, more: &[&str]) {
        let (key, subject) = (format!("{name}.key"), format!("/CN={subject}"));
        let new = ["req", "-config", "openssl.cnf", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
        let rest = ["-nodes", "-keyout", &key, "-subj", &subject];
        self.openssl(&[&new[..], &rest, more].concat());
        fs::set_permissions(self.file(&key), fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn ca(&self, name: &str) {
        let out = format!("{name}.pem");
        self.asked(
            name,
            name,
            &["-x509", "-days", "3", "-addext", "basicConstraints=critical,CA:TRUE", "-out", &out],
        );
    }

    /// A certificate that a CA signs, until a day.
    fn signed(&self, name: &str, subject: &str, extension: &str, ca: &str, until: &str) {
        let (request, out) = (format!("{name}.csr"), format!("{name}.pem"));
        self.asked(name, subject, &["-new", "-addext", extension, "-out", &request]);
        let (cert, key, until) = (format!("{ca}.pem"), format!("{ca}.key"), format!("{until}000000Z"));
        let by = ["ca", "-config", "openssl.cnf", "-batch", "-notext", "-cert", &cert];
        let rest = ["-keyfile", &key, "-in", &request, "-out", &out];
        let days = ["-startdate", "20200101000000Z", "-enddate", &until];
        self.openssl(&[&by[..], &rest, &days].concat());
    }

    /// The address of a board on it, with a CA to trust.
    fn url(&self, user: &str, board: &str, ca: &str) -> String {
        self.at("127.0.0.1", self.server.port(), user, board, ca)
    }

    pub fn at(&self, host: &str, port: u16, user: &str, board: &str, ca: &str) -> String {
        let ca = self.file(ca).display().to_string();
        format!("postgres://{user}@{host}:{port}/postgres?board={board}&sslmode=verify-full&sslrootcert={ca}")
    }

    /// A new board, which is reached through TLS.
    pub fn board(&self) -> Place<'_> {
        let place = self.server.board();
        Place { url: self.url("watchbill", &place.name, "ca.pem"), ..place }
    }

    fn hand(&self) -> Client {
        Client::connect(&self.server.plain(), NoTls).unwrap()
    }
}

fn refused(url: &str, secrets: &Secrets) -> Error {
    let Err(error) = PostgresBoard::open(url, Mode::Change, SHORT, secrets) else { panic!("opened: {url}") };
    let text = error.to_string();
    assert!(!text.contains('\n') && !text.contains("geheim") && !text.contains("falsch"), "{text}");
    error
}

/// A process that answers once at a port in the place of a server: what it heard after it was asked for TLS.
fn instead(talk: impl FnOnce(TcpStream) -> Vec<u8> + Send + 'static) -> (u16, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        drop(listener);
        let mut asked = [0; 8];
        client.read_exact(&mut asked).unwrap();
        assert_eq!(asked, [0, 0, 0, 8, 4, 210, 22, 47], "the request for TLS");
        talk(client)
    });
    (port, heard)
}

/// A message of a client after its length, which counts itself.
fn message(from: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
    from.read_exact(&mut body)?;
    Ok(body)
}

/// One with a certificate, which asks for a password and hears how the client would prove it.
fn with(secure: &Secure, certificate: &str) -> (u16, JoinHandle<Vec<u8>>) {
    let own = CertificateDer::from_pem_file(secure.file(&format!("{certificate}.pem"))).unwrap();
    let key = PrivateKeyDer::from_pem_file(secure.file(&format!("{certificate}.key"))).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own], key)
        .unwrap();
    instead(move |mut client| {
        client.write_all(b"S").unwrap();
        let mut tls = StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), client);
        let Ok(mut heard) = message(&mut tls) else { return Vec::new() };
        let ways = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
        let length = u32::try_from(8 + ways.len()).unwrap().to_be_bytes();
        tls.write_all(&[b"R", &length[..], &[0, 0, 0, 10], ways].concat()).unwrap();
        tls.read_exact(&mut [0]).unwrap();
        heard.extend(message(&mut tls).unwrap());
        heard
    })
}

#[test]
fn a_board_is_made_and_written_through_tls_and_the_connection_is_encrypted() {
    let Some(secure) = secure() else { return };
    let mut hand = secure.hand();
    hand.batch_execute("CREATE ROLE maker LOGIN SUPERUSER PASSWORD 'geheim'").unwrap();
    let kept = passwords("*:*:*:maker:geheim", 0o600);
    let kept = Secrets { file: Some(kept.path().into()) };
    let url = secure.url("maker", "made", "ca.pem");
    PostgresBoard::create(&url, PATIENCE, &kept).unwrap();
    let mut board = PostgresBoard::open(&url, Mode::Change, PATIENCE, &kept).unwrap();
    assert_eq!(board.id().at.to_string(), url);
    add(&mut board, "t_000000a1", Status::Ready, &[]);
    let ours = "FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE usename = 'maker'";
    let row = hand.query_one(&format!("SELECT count(*), bool_and(ssl) {ours}"), &[]).unwrap();
    assert!(row.get::<_, i64>(0) > 0 && row.get::<_, bool>(1));

    // A server that ends a connection is connected to again.
    hand.batch_execute(&format!("SELECT pg_terminate_backend(pid) {ours}")).unwrap();
    assert_eq!(look(&mut board, "t_000000a1").task.status, Status::Ready);
}

#[test]
fn a_password_is_proven_and_never_told() {
    let Some(secure) = secure() else { return };
    let place = secure.board();
    PostgresBoard::grant(&place.url, &[], &[], PATIENCE, &Secrets::default()).unwrap();
    let role = format!("nova_{}", place.name);
    let make = format!("CREATE ROLE {role} LOGIN PASSWORD 'geheim' IN ROLE {}_work", place.name);
    place.hand().batch_execute(&make).unwrap();
    let url = secure.url(&role, &place.name, "ca.pem");
    assert_eq!(refused(&url, &Secrets::default()).kind, Kind::Permission);
    let wrong = passwords("*:*:*:*:falsch", 0o600);
    assert_eq!(refused(&url, &Secrets { file: Some(wrong.path().into()) }).kind, Kind::Permission);
    let right = passwords(&format!("127.0.0.1:*:*:{role}:geheim"), 0o600);
    let right = Secrets { file: Some(right.path().into()) };
    let mut board = PostgresBoard::open(&url, Mode::Change, PATIENCE, &right).unwrap();
    add(&mut board, "t_000000a1", Status::Ready, &[]);

    // The same server without TLS accepts no connection.
    let plain = format!("postgres://{role}@127.0.0.1:{}/postgres?board={}", secure.server.port(), place.name);
    assert_eq!(refused(&plain, &right).kind, Kind::Permission);
}

#[test]
fn a_password_is_tied_to_the_certificate_where_the_server_can() {
    let Some(secure) = secure() else { return };
    let kept = passwords("*:*:*:*:geheim", 0o600);
    let (port, heard) = with(secure, "server");
    // It leaves without an answer, and nobody is there any more.
    let url = secure.at("127.0.0.1", port, "luna", "any", "ca.pem");
    assert_eq!(refused(&url, &Secrets { file: Some(kept.path().into()) }).kind, Kind::Busy);
    let heard = String::from_utf8_lossy(&heard.join().unwrap()).into_owned();
    assert!(
        heard.contains("SCRAM-SHA-256-PLUS\0") && heard.contains("p=tls-server-end-point,,"),
        "{heard:?}"
    );
    assert!(!heard.contains("geheim"));
}

#[test]
fn a_server_that_does_not_prove_its_name_is_told_nothing() {
    let Some(secure) = secure() else { return };
    let kept = passwords("*:*:*:*:geheim", 0o600);
    let kept = Secrets { file: Some(kept.path().into()) };
    for (certificate, host, ca, word) in [
        ("server", "localhost", "ca.pem", "is for another name"),
        ("server", "127.0.0.1", "other.pem", "is of no CA that is trusted here; sslrootcert=PATH"),
        ("expired", "127.0.0.1", "ca.pem", "has expired"),
        ("nameless", "127.0.0.1", "ca.pem", "names no host; give it a subjectAltName"),
        ("ca", "127.0.0.1", "ca.pem", "is that of a CA; let that CA sign one"),
    ] {
        let (port, heard) = with(secure, certificate);
        let error = refused(&secure.at(host, port, "luna", "any", ca), &kept);
        assert_eq!(error.kind, Kind::Permission, "{error}");
        assert!(error.to_string().contains(word), "{error}");
        assert_eq!(heard.join().unwrap(), b"", "{certificate}");
    }
    // The CAs of this machine, where it has any, do not know it either.
    let (port, heard) = with(secure, "server");
    let error = refused(&format!("postgres://luna@127.0.0.1:{port}/postgres?sslmode=verify-full"), &kept);
    let of_machine =
        matches!(error.kind, Kind::Permission | Kind::Config) && error.to_string().contains("no CA");
    assert!(of_machine, "{error}");
    if error.kind == Kind::Permission {
        assert_eq!(heard.join().unwrap(), b"");
    }

    // And the real one.
    for (host, ca, word) in [("localhost", "ca.pem", "another name"), ("127.0.0.1", "other.pem", "no CA")] {
        let place = secure.board();
        let url = secure.at(host, secure.server.port(), "watchbill", &place.name, ca);
        let error = refused(&url, &kept);
        assert!(error.kind == Kind::Permission && error.to_string().contains(word), "{error}");
    }
}

#[test]
fn a_server_at_an_address_proves_its_name_and_gets_the_password_of_that_name() {
    let Some(secure) = secure() else { return };
    let place = secure.board();
    PostgresBoard::grant(&place.url, &[], &[], PATIENCE, &Secrets::default()).unwrap();
    let role = format!("lyra_{}", place.name);
    let make = format!("CREATE ROLE {role} LOGIN PASSWORD 'geheim' IN ROLE {}_work", place.name);
    place.hand().batch_execute(&make).unwrap();
    let url = |host: &str| {
        let url = secure.at(host, secure.server.port(), &role, &place.name, "ca.pem");
        url.replace("&sslmode=", "&hostaddr=127.0.0.1&sslmode=")
    };
    let kept = |host: &str| passwords(&format!("{host}:*:*:{role}:geheim"), 0o600);
    let (of_name, of_address) = (kept("db.lan"), kept("127.0.0.1"));
    let of_name = Secrets { file: Some(of_name.path().into()) };
    // Nobody looks the name up: there is no such host.
    let mut board = PostgresBoard::open(&url("db.lan"), Mode::Change, PATIENCE, &of_name).unwrap();
    add(&mut board, "t_000000a1", Status::Ready, &[]);
    let error = refused(&url("db.lan"), &Secrets { file: Some(of_address.path().into()) });
    assert!(error.kind == Kind::Permission && error.to_string().contains("no file has it"), "{error}");
    let error = refused(&url("db2.lan"), &of_name);
    assert!(error.kind == Kind::Permission && error.to_string().contains("is for another name"), "{error}");
}

#[test]
fn a_server_without_tls_is_told_nothing() {
    let Some(secure) = secure() else { return };
    let kept = passwords("*:*:*:*:geheim", 0o600);
    let (port, heard) = instead(|mut client| {
        client.write_all(b"N").unwrap();
        let mut rest = vec![0; 1024];
        let length = client.read(&mut rest).unwrap();
        rest.truncate(length);
        rest
    });
    let url = secure.at("127.0.0.1", port, "luna", "any", "ca.pem");
    let error = refused(&url, &Secrets { file: Some(kept.path().into()) });
    assert_eq!(error.kind, Kind::Permission, "{error}");
    assert!(error.to_string().contains("has no TLS, so nothing was sent; set `ssl = on`"), "{error}");
    assert_eq!(heard.join().unwrap(), b"");
}

#[test]
fn a_client_proves_itself_by_a_certificate_too() {
    let Some(secure) = secure() else { return };
    let place = secure.board();
    let none = Secrets::default();
    let grant =
        format!("GRANT USAGE ON SCHEMA {0} TO luna_cert; GRANT SELECT ON {0}.meta TO luna_cert", place.name);
    place.hand().batch_execute(&grant).unwrap();
    let url = secure.url("luna_cert", &place.name, "ca.pem");
    let of = |cert: &str, key: &str| {
        format!("{url}&sslcert={}&sslkey={}", secure.file(cert).display(), secure.file(key).display())
    };
    let mut own = PostgresBoard::open(&of("luna.pem", "luna.key"), Mode::Look, PATIENCE, &none).unwrap();
    assert_eq!(own.writable().unwrap_err().kind, Kind::Permission);

    let key = fs::read(secure.file("luna.key")).unwrap();
    for (name, text, mode) in [("open.key", &key[..], 0o644), ("words.key", b"geheim", 0o600)] {
        fs::write(secure.file(name), text).unwrap();
        fs::set_permissions(secure.file(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    for (url, kind, word) in [
        (url.clone(), Kind::Permission, "certificate"),
        (
            of("stranger.pem", "stranger.key"),
            Kind::Permission,
            "does not accept the certificate of this client",
        ),
        (of("luna.pem", "open.key"), Kind::Permission, "others may read this key; chmod 0600"),
        (of("luna.pem", "stranger.key"), Kind::Config, "not the key of the certificate in"),
        (of("luna.pem", "words.key"), Kind::Config, "no key in it"),
        (of("none.pem", "luna.key"), Kind::Config, "none.pem: No such file"),
        (of("luna.pem", "none.key"), Kind::Config, "none.key: No such file"),
    ] {
        let error = refused(&url, &none);
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
}
