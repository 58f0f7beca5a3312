//! Certificates for a test, made with openssl: an authority and the certificates it signs.

use super::{Scratch, output};

/// An authority whose files are in the folder `tls` of a test: `ca.pem`, `ca.key`.
pub(crate) struct Authority<'a>(&'a Scratch);

/// The purpose of a certificate.
pub(crate) struct Leaf<'a> {
    /// Its files are `tls/NAME.pem` and `tls/NAME.key`.
    pub(crate) file: &'a str,
    /// The subject alternative name: `DNS:a.example,IP:127.0.0.1`.
    pub(crate) names: &'a str,
    /// RSA, not ECDSA.
    pub(crate) rsa: bool,
    /// More extensions: `tlsfeature=status_request`.
    pub(crate) extensions: &'a [&'a str],
}

const ECDSA: &[&str] = &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
const RSA: &[&str] = &["-newkey", "rsa:2048"];

impl<'a> Authority<'a> {
    /// A new authority in the folder.
    #[track_caller]
    pub(crate) fn new(dir: &'a Scratch) -> Self {
        dir.write("tls/index.txt", "");
        let own = Self(dir);
        let (key, certificate) = (dir.text("tls/ca.key"), dir.text("tls/ca.pem"));
        let uses = "keyUsage=critical,keyCertSign,cRLSign,digitalSignature";
        let end = ["-keyout", &key, "-out", &certificate, "-days", "30", "-subj", "/CN=authority of a test"];
        let about = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", uses];
        openssl(&[&["req", "-x509", "-nodes"], ECDSA, &end, &about].concat());
        own
    }

    /// A certificate for `localhost` and 127.0.0.1: `tls/leaf.pem`, `tls/leaf.key`.
    #[track_caller]
    pub(crate) fn issue_leaf(&self) -> &Self {
        self.issue(&Leaf { file: "leaf", names: "DNS:localhost,IP:127.0.0.1", rsa: false, extensions: &[] })
    }

    /// A certificate and its key, good for 90 days.
    #[track_caller]
    pub(crate) fn issue(&self, leaf: &Leaf<'_>) -> &Self {
        let (key, certificate) = (self.text(leaf.file, "key"), self.text(leaf.file, "pem"));
        let subject = format!("/CN={}", leaf.file);
        let names = format!("subjectAltName={}", leaf.names);
        let (ca, ca_key) = (self.text("ca", "pem"), self.text("ca", "key"));
        let by = ["-CA", &ca, "-CAkey", &ca_key, "-days", "90", "-subj", &subject];
        let to = ["-keyout", &key, "-out", &certificate];
        let uses = "extendedKeyUsage=serverAuth,clientAuth";
        let about =
            ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", uses, "-addext", names.as_str()];
        let more: Vec<&str> = leaf.extensions.iter().flat_map(|extension| ["-addext", extension]).collect();
        let algorithm = if leaf.rsa { RSA } else { ECDSA };
        openssl(&[&["req", "-x509", "-nodes"], algorithm, &by, &to, &about, &more[..]].concat());
        self
    }

    /// A certificate good between these dates, as `20200101000000Z`.
    #[track_caller]
    pub(crate) fn issue_between(&self, file: &str, begin: &str, end: &str) {
        let (key, certificate) = (self.text(file, "key"), self.text(file, "pem"));
        let (request, folder) = (self.text(file, "csr"), self.0.text("tls"));
        let new = ["req", "-new", "-nodes", "-keyout", &key, "-out", &request, "-subj", "/CN=a.example"];
        openssl(&[&new, ECDSA].concat());
        let settings = format!(
            "[ca]\ndefault_ca=own\n[own]\ndatabase={folder}/index.txt\nnew_certs_dir={folder}\nrand_serial=yes\n\
             default_md=sha256\nunique_subject=no\npolicy=any\n[any]\ncommonName=supplied\n"
        );
        self.0.write("tls/ca.conf", settings);
        let (conf, ca, ca_key) = (self.text("ca", "conf"), self.text("ca", "pem"), self.text("ca", "key"));
        openssl(&[
            "ca",
            "-batch",
            "-notext",
            "-config",
            &conf,
            "-cert",
            &ca,
            "-keyfile",
            &ca_key,
            "-in",
            &request,
            "-out",
            &certificate,
            "-startdate",
            begin,
            "-enddate",
            end,
        ]);
    }

    /// Enters a certificate into the authority's list, which its OCSP responder answers from.
    #[track_caller]
    pub(crate) fn enter(&self, file: &str) {
        let certificate = self.text(file, "pem");
        let serial = openssl(&["x509", "-in", &certificate, "-noout", "-serial"]);
        let serial = serial.trim().trim_start_matches("serial=");
        let line = format!("V\t351231235959Z\t\t{serial}\tunknown\t/CN={file}\n");
        self.0.write("tls/index.txt", self.0.read("tls/index.txt") + &line);
    }

    /// The path of a file in the folder `tls`.
    pub(crate) fn text(&self, file: &str, kind: &str) -> String {
        self.0.text(&format!("tls/{file}.{kind}"))
    }
}

/// Runs openssl; its standard output.
#[track_caller]
pub(crate) fn openssl(args: &[&str]) -> String {
    let (code, out) = output("openssl", args.iter().copied());
    assert_eq!(code, 0, "openssl {args:?}");
    String::from_utf8_lossy(&out).into_owned()
}
