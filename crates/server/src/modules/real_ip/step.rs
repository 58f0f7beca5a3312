//! The step of the early phase that determines the client's address.

use super::{Header, RealIp, Settings, forwarded, node};
use crate::phase::{PhaseRequest, Reply, Step, Verdict};
use crate::service::plain;
use hayami_http::{FieldSection, Status};
use hayami_net::service::Address;
use std::net::SocketAddr;
use std::sync::Arc;

/// No real chain of proxies is longer than this: a longer list is not trusted.
const MOST_HOPS: usize = 64;

/// The step for these settings; `None` if the address is that of the connection.
pub(super) fn build(settings: &Settings) -> Option<Box<dyn Step>> {
    let real_ip = Arc::clone(settings.0.as_ref()?);
    Some(Box::new(RealIpStep(real_ip)))
}

struct RealIpStep(Arc<RealIp>);

impl Step for RealIpStep {
    fn check(&self, request: &mut PhaseRequest<'_>) -> Verdict {
        if !self.0.from.contains(&request.connection.peer) {
            return Verdict::Pass;
        }
        match self.0.client(request.head.fields()) {
            Ok(Some(client)) => request.client.set_address(Address::Ip(client)),
            Ok(None) => {}
            Err(Malformed) => return Verdict::Answer(Box::new(unknown_client())),
        }
        Verdict::Pass
    }
}

/// A Forwarded field in which the client's part cannot be told from the proxy's.
struct Malformed;

/// The response to a request whose client may be hiding its address. It must not be treated as the proxy, which may
/// have access where the client does not.
#[cold]
fn unknown_client() -> Reply {
    let reason = "the Forwarded field of a trusted proxy is malformed: the client is unknown".to_owned();
    Reply::new(plain(Status::BAD_REQUEST, "the Forwarded field is malformed"), reason)
}

impl RealIp {
    /// The client named by the proxies; `None`: there is none, or it is not an address.
    ///
    /// # Errors
    /// The field is malformed, so the client is unknown.
    fn client(&self, fields: &FieldSection) -> Result<Option<SocketAddr>, Malformed> {
        match &self.header {
            Header::List(name) => {
                let lines = fields.iter().rev().filter(|(own, _)| own.eq_ignore_ascii_case(name));
                let elements = lines.flat_map(|(_, value)| value.rsplit(|byte| *byte == b','));
                let elements = elements.map(<[u8]>::trim_ascii).filter(|element| !element.is_empty());
                self.last(elements.map(|element| Ok(node::parse(element))))
            }
            Header::Forwarded => {
                let lines = fields.iter().rev().filter(|(own, _)| own.eq_ignore_ascii_case(b"forwarded"));
                let nodes = lines.flat_map(|(_, value)| match forwarded::nodes(value) {
                    Some(nodes) => nodes.into_iter().rev().map(Ok).collect(),
                    None => vec![Err(Malformed)],
                });
                self.last(nodes.map(|node| node.map(|node| node::parse(&node))))
            }
        }
    }

    /// The first hop, from the last to the first, that is not a trusted proxy; if all are, the first of the list.
    /// Anything before that hop may be forged.
    fn last(
        &self,
        hops: impl Iterator<Item = Result<Option<SocketAddr>, Malformed>>,
    ) -> Result<Option<SocketAddr>, Malformed> {
        let mut client = None;
        for (number, hop) in hops.enumerate() {
            let Some(hop) = hop?.filter(|_| number < MOST_HOPS) else { return Ok(None) };
            client = Some(hop);
            if !self.recursive || !self.from.contains(&Address::Ip(hop)) {
                break;
            }
        }
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;
    use crate::handler::testing;
    use crate::modules::test_support::set;

    /// The address used by `allow` and logs for a request with these field lines, from 192.0.2.1.
    fn seen(line: &str, fields: &[&str]) -> String {
        let step = build(set(&[line]).inherited.get()).expect("a step");
        let (mut head, connection, mut client) =
            (testing::get("/"), testing::connection(), Client::default());
        for field in fields {
            let (name, value) = field.split_once(": ").expect("a field");
            head.fields_mut().append(name.as_bytes(), value.as_bytes());
        }
        match testing::pass(&*step, &mut head, &mut client) {
            Verdict::Pass => {}
            Verdict::Answer(reply) => return reply.response.head.status().code().to_string(),
            _ => panic!("{fields:?}"),
        }
        let address = client.address(&connection);
        format!("{address}:{}", address.port())
    }

    /// The address of the connection.
    const OWN: &str = "192.0.2.1:4000";

    #[test]
    fn the_last_address_that_is_no_trusted_proxy_is_the_clients() {
        let trusting = "real-ip: {from: [192.0.2.0/24, 10.0.0.0/8]}";
        let cases: [(&[&str], &str); 12] = [
            (&["x-forwarded-for: 203.0.113.9"], "203.0.113.9:0"),
            (&["X-Forwarded-For: 1.1.1.1, 203.0.113.9:77, 10.0.0.1"], "203.0.113.9:77"),
            (
                &["x-forwarded-for: 1.1.1.1", "a: b", "x-forwarded-for: 203.0.113.9, 10.1.1.1"],
                "203.0.113.9:0",
            ),
            (&["x-forwarded-for: 203.0.113.9", "x-forwarded-for: 10.1.1.1"], "203.0.113.9:0"),
            (&["x-forwarded-for: 10.0.0.9, 10.0.0.1"], "10.0.0.9:0"),
            (&["x-forwarded-for: , 2001:db8::7 ,"], "2001:db8::7:0"),
            (&["x-forwarded-for: ::ffff:203.0.113.9"], "203.0.113.9:0"),
            (&["x-forwarded-for: garbage, 203.0.113.9"], "203.0.113.9:0"),
            (&["x-forwarded-for: 203.0.113.9, garbage"], OWN),
            (&["x-forwarded-for: garbage, 10.0.0.1"], OWN),
            (&["x-forwarded-for: "], OWN),
            (&["x-real-ip: 203.0.113.9"], OWN),
        ];
        for (fields, want) in cases {
            assert_eq!(seen(trusting, fields), want, "{fields:?}");
        }
    }

    #[test]
    fn without_recursion_the_last_address_counts() {
        let trusting = "real-ip: {from: [192.0.2.0/24, 10.0.0.0/8], recursive: OFF}";
        assert_eq!(seen(trusting, &["x-forwarded-for: 203.0.113.9, 10.0.0.1"]), "10.0.0.1:0");
        assert_eq!(seen(trusting, &["x-forwarded-for: 10.0.0.1, unknown"]), OWN);
    }

    #[test]
    fn untrusted_peers_are_ignored() {
        let trusting = "real-ip: {from: [10.0.0.0/8, unix:]}";
        assert_eq!(seen(trusting, &["x-forwarded-for: 203.0.113.9"]), OWN);
    }

    #[test]
    fn forwarded_names_nodes() {
        let trusting = "real-ip: {from: [192.0.2.0/24, 10.0.0.0/8], header: forwarded}";
        let cases: [(&[&str], &str); 10] = [
            (&["forwarded: for=203.0.113.9;proto=https, for=10.0.0.1"], "203.0.113.9:0"),
            // Only the last line is the proxy's.
            (&["forwarded: garbage", "forwarded: for=203.0.113.9"], "203.0.113.9:0"),
            (&["forwarded: garbage", "forwarded: for=10.0.0.1"], "400"),
            // The client's open quotation mark may contain the proxy's element.
            (&["forwarded: for=\"open, for=203.0.113.9"], "400"),
            (&["forwarded: for=\"[2001:db8::7]:47\"", "Forwarded: for=10.0.0.1"], "2001:db8::7:47"),
            (&["forwarded: for=_hidden, for=10.0.0.1"], OWN),
            (&["forwarded: for=unknown"], OWN),
            (&["forwarded: proto=https"], OWN),
            (&["forwarded: for=203.0.113.9, for=\"open"], "400"),
            (&["x-forwarded-for: 203.0.113.9"], OWN),
        ];
        for (fields, want) in cases {
            assert_eq!(seen(trusting, fields), want, "{fields:?}");
        }
    }

    #[test]
    fn a_list_without_end_is_not_believed() {
        let trusting = "real-ip: {from: [192.0.2.0/24, 10.0.0.0/8]}";
        let line = |hops| format!("x-forwarded-for: 203.0.113.9{}", ", 10.0.0.1".repeat(hops));
        assert_eq!(seen(trusting, &[&line(MOST_HOPS - 1)]), "203.0.113.9:0");
        assert_eq!(seen(trusting, &[&line(MOST_HOPS)]), OWN);
    }
}
