//! Describes why a handshake with a server failed, and what to check.

use crate::certificate::date;
use rustls::{CertificateError, Error, InvalidMessage, OtherError, PeerIncompatible};

/// One line that follows "the handshake failed: ".
pub(super) fn describe(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => certificate(why),
        Error::PeerIncompatible(why) => incompatible(why),
        Error::NoCertificatesPresented => "the server presented no certificate".to_owned(),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the server does not speak TLS".to_owned()
        }
        error => error.to_string(),
    }
}

fn certificate(why: &CertificateError) -> String {
    match why {
        CertificateError::Expired => "the server's certificate has expired".to_owned(),
        CertificateError::ExpiredContext { not_after, .. } => {
            format!("the server's certificate expired on {}", date(not_after.as_secs()))
        }
        CertificateError::NotValidYet => "the server's certificate isn't valid yet".to_owned(),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "the server's certificate isn't valid before {}, and this machine's date is {}",
            date(not_before.as_secs()),
            date(time.as_secs())
        ),
        CertificateError::UnknownIssuer => {
            "the server's certificate is from an untrusted issuer: it is self-signed, from a private \
             authority, or sent without intermediate certificates".to_owned()
        }
        CertificateError::NotValidForName => "the server's certificate is for another name".to_owned(),
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "the server's certificate isn't for {} but for {}",
            expected.to_str(),
            names(presented)
        ),
        CertificateError::Revoked => "the server's certificate was revoked".to_owned(),
        CertificateError::BadEncoding => "the server's certificate is damaged".to_owned(),
        CertificateError::BadSignature => {
            "a signature in the server's certificates is wrong: forged, or made by another authority with the same name".to_owned()
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "the server's certificate is not valid for servers".to_owned()
        }
        CertificateError::Other(OtherError(why)) if is_of_authority(why.as_ref()) => {
            "the server's certificate is a CA certificate, most likely self-signed, and is not trusted"
                .to_owned()
        }
        other => format!("the server's certificate can't be used: {other}"),
    }
}

/// Certificates made by `openssl req -x509` are marked so.
fn is_of_authority(why: &(dyn std::error::Error + 'static)) -> bool {
    matches!(why.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

/// The names without rustls' notation, `DnsName("a.example")`.
fn names(presented: &[String]) -> String {
    const SHOWN: usize = 5;
    let plain = |name: &String| {
        let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
        inner.trim_matches('"').to_owned()
    };
    match presented {
        [] => "no name at all".to_owned(),
        [some @ .., _] if some.len() >= SHOWN => {
            let shown: Vec<_> = presented[..SHOWN].iter().map(plain).collect();
            format!("{} and {} more", shown.join(", "), presented.len() - SHOWN)
        }
        all => all.iter().map(plain).collect::<Vec<_>>().join(", "),
    }
}

fn incompatible(why: &PeerIncompatible) -> String {
    let what = match why {
        PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
        | PeerIncompatible::Tls12NotOffered => "the server supports none of the offered TLS versions",
        PeerIncompatible::NoCipherSuitesInCommon => "the server supports none of the offered cipher suites",
        PeerIncompatible::NoKxGroupsInCommon | PeerIncompatible::NamedGroupsExtensionRequired => {
            "the server supports none of the offered key exchange groups"
        }
        other => return format!("the server is incompatible: {other:?}"),
    };
    what.to_owned()
}
