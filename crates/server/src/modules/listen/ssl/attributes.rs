//! The keys of `ssl`.

use super::Settings;
use super::reading::{Reading, file};
use crate::config::attribute::Attribute;
use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use hayami_tls::Version;

/// Bytes of early data accepted if it is enabled: two typical heads of browser requests, the same as in OpenSSL.
const EARLY_DATA: u32 = 16_384;

/// Every key of `ssl`.
pub(crate) const ATTRIBUTES: &[Attribute<Reading>] = &[
    Attribute {
        name: "certificate-file",
        argument: "a file",
        default: "",
        help: "The certificate chain (PEM), the server's own certificate first; or a raw public key (`PUBLIC \
               KEY`), for clients that request one instead of a certificate (RFC 7250, TLS 1.3 only).",
        set: |reading, node| {
            reading.files.certificate = Some(file(node)?);
            Ok(())
        },
    },
    Attribute {
        name: "key-file",
        argument: "a file",
        default: "",
        help: "The private key of the certificate (PEM). It is read before the server drops its privileges.",
        set: |reading, node| {
            reading.files.key = Some(file(node)?);
            Ok(())
        },
    },
    Attribute {
        name: "identity",
        argument: "a sequence of mappings with `certificate-file`, `key-file` and `ocsp-file`",
        default: "",
        help: "Several certificates, such as one with ECDSA and one with RSA; each client gets the first \
               that it supports. Raw public keys are sent to clients that request them instead of \
               certificates.",
        set: |reading, node| {
            for node in node.one_or_many() {
                reading.identity(node)?;
            }
            Ok(())
        },
    },
    Attribute {
        name: "minimum-version",
        argument: "TLSv1.2 | TLSv1.3",
        default: "TLSv1.2",
        help: "The minimum TLS version. SSLv3, TLSv1 and TLSv1.1 are accepted and mean TLSv1.2.",
        set: min_version,
    },
    Attribute {
        name: "min-version",
        argument: "TLSv1.2 | TLSv1.3",
        default: "",
        help: "An alias of `minimum-version`.",
        set: min_version,
    },
    Attribute {
        name: "maximum-version",
        argument: "TLSv1.2 | TLSv1.3",
        default: "TLSv1.3",
        help: "The maximum TLS version.",
        set: max_version,
    },
    Attribute {
        name: "max-version",
        argument: "TLSv1.2 | TLSv1.3",
        default: "",
        help: "An alias of `maximum-version`.",
        set: max_version,
    },
    Attribute {
        name: "cipher-suite",
        argument: "an OpenSSL cipher list",
        default: "all with ECDHE and AEAD",
        help: "The TLS 1.2 cipher suites. Suites without forward secrecy or without AEAD are ignored with a \
               warning.",
        set: |reading, node| {
            let choice = hayami_tls::suites_tls12(node.text()?);
            reading.choice(node, &choice, "TLS 1.2 cipher suite", "ECDHE-ECDSA-AES128-GCM-SHA256")?;
            reading.settings.suites_tls12 = Some(node.text()?.to_owned());
            Ok(())
        },
    },
    Attribute {
        name: "cipher-suite-tls1.3",
        argument: "a sequence of names",
        default: "all",
        help: "The TLS 1.3 cipher suites: TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384, \
               TLS_CHACHA20_POLY1305_SHA256.",
        set: |reading, node| {
            let names = names(node)?;
            let choice = hayami_tls::suites_tls13(names.iter().map(String::as_str));
            reading.choice(node, &choice, "TLS 1.3 cipher suite", "TLS_AES_128_GCM_SHA256")?;
            reading.settings.suites_tls13 = Some(names);
            Ok(())
        },
    },
    Attribute {
        name: "cipher-preference",
        argument: "client | server",
        default: "client",
        help: "Whose order of cipher suites is preferred.",
        set: |reading, node| {
            reading.settings.server_preference = node.one_of(&["client", "server"])? == 1;
            Ok(())
        },
    },
    Attribute {
        name: "key-exchange-tls1.3",
        argument: "a sequence of names",
        default: "x25519mlkem768, x25519, secp256r1, secp384r1",
        help: "The key-exchange groups in order of preference; `x25519mlkem768` is a post-quantum key \
               exchange. They apply to TLS 1.2 too, where it supports them.",
        set: |reading, node| {
            let names = names(node)?;
            let choice = hayami_tls::groups(names.iter().map(String::as_str));
            reading.choice(node, &choice, "group", "x25519")?;
            reading.settings.groups = Some(names);
            Ok(())
        },
    },
    Attribute {
        name: "client-ca-file",
        argument: "a file",
        default: "",
        help: "Certificates of authorities (PEM). Only clients with a certificate issued by one of them may \
               connect.",
        set: |reading, node| {
            reading.settings.client_ca = Some(file(node)?);
            Ok(())
        },
    },
    Attribute {
        name: "early-data",
        argument: "ON | OFF",
        default: "OFF",
        help: "Whether a client that resumes a session may send its request as early data (0-RTT). An \
               attacker can replay such a request, so only safe methods (GET, HEAD, OPTIONS) are served; \
               others get 425.",
        set: |reading, node| {
            reading.settings.early_data = if node.on_off()? { EARLY_DATA } else { 0 };
            Ok(())
        },
    },
    Attribute {
        name: "ocsp-file",
        argument: "a file",
        default: "",
        help: "An OCSP response (DER) to staple to the certificate. The server fetches none then.",
        set: |reading, node| {
            reading.files.ocsp = Some(file(node)?);
            Ok(())
        },
    },
    Attribute {
        name: "ocsp-update-interval",
        argument: "seconds",
        default: "14400",
        help: "How often the OCSP response for a certificate that names a responder is fetched; 0 disables \
               fetching.",
        set: |reading, node| {
            reading.settings.ocsp.interval = Some(node.seconds()?).filter(|interval| !interval.is_zero());
            Ok(())
        },
    },
    Attribute {
        name: "ocsp-max-failures",
        argument: "a number",
        default: "3",
        help: "The number of consecutive failures after which the last OCSP response is no longer stapled.",
        set: |reading, node| {
            reading.settings.ocsp.max_failures = node.integer(0..=1_000_000)? as u32;
            Ok(())
        },
    },
    Attribute {
        name: "ocsp-update-cmd",
        argument: "a command",
        default: "",
        help: "A command that fetches the OCSP response instead of the server: its argument is the \
               certificate file, and it writes the response (DER) to its standard output.",
        set: |reading, node| {
            reading.settings.ocsp.command = Some(node.text()?.to_owned());
            Ok(())
        },
    },
    Attribute {
        name: "dh-file",
        argument: "a file",
        default: "",
        help: "Without effect: no supported suite uses finite-field Diffie-Hellman.",
        set: |reading, node| {
            reading.without_effect(node, "dh-file", "no supported suite uses finite-field Diffie-Hellman");
            node.text().map(drop)
        },
    },
    Attribute {
        name: "neverbleed",
        argument: "ON | OFF",
        default: "OFF",
        help: "Without effect: the keys stay in the memory of this process.",
        set: |reading, node| {
            if node.on_off()? {
                reading.without_effect(node, "neverbleed", "the keys stay in the memory of this process");
            }
            Ok(())
        },
    },
    Attribute {
        name: "max-tickets",
        argument: "a number",
        default: "",
        help: "Without effect: how many tickets h2o sends to a client that requests a number. In hayami \
               every client gets the same number.",
        set: |reading, node| {
            node.integer(0..=255)?;
            reading.without_effect(node, "max-tickets", "every client gets the same number of tickets");
            Ok(())
        },
    },
    Attribute {
        name: "http2-origin-frame",
        argument: "a sequence of origins",
        default: "",
        help: "Without effect: no ORIGIN frame is sent; clients use the names in the certificate.",
        set: |reading, node| {
            names(node)?;
            reading.without_effect(
                node,
                "http2-origin-frame",
                "no ORIGIN frame is sent; clients use the names in the certificate",
            );
            Ok(())
        },
    },
    Attribute {
        name: "ech",
        argument: "a sequence of mappings",
        default: "",
        help: "Without effect: Encrypted Client Hello is not supported yet.",
        set: |reading, node| {
            node.sequence()?;
            reading.without_effect(node, "ech", "Encrypted Client Hello is not supported yet");
            Ok(())
        },
    },
];

/// A sequence of names; a scalar may hold several, with colons between them.
fn names(node: &Node) -> Result<Vec<String>, ConfigError> {
    let mut names = Vec::new();
    for node in node.one_or_many() {
        let text = node.text().map_err(|_| node.expected("a name"))?;
        names.extend(text.split([':', ',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned));
    }
    if names.is_empty() { Err(node.expected("a sequence of names")) } else { Ok(names) }
}

/// The versions known to h2o.
const VERSIONS: [&str; 6] = ["SSLv2", "SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"];

fn min_version(reading: &mut Reading, node: &Node) -> Result<(), ConfigError> {
    let version = node.one_of(&VERSIONS)?;
    if version < 4 {
        let why =
            format!("`{}` is insecure and not supported; TLS 1.2 is the minimum version", VERSIONS[version]);
        reading.warnings.push(node.error(why));
    }
    reading.settings.min_version = if version == 5 { Version::Tls13 } else { Version::Tls12 };
    reading.range(node)
}

fn max_version(reading: &mut Reading, node: &Node) -> Result<(), ConfigError> {
    let Settings { max_version, .. } = &mut reading.settings;
    *max_version = match node.one_of(&VERSIONS)? {
        5 => Version::Tls13,
        4 => Version::Tls12,
        old => {
            let error = node.error(format!("`{}` is insecure and not supported", VERSIONS[old]));
            return Err(error.help("write `TLSv1.3`, or remove the line: that is the default"));
        }
    };
    reading.range(node)
}
