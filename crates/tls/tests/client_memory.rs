//! A client's open session allocates nothing, as long as its buffers are large enough.

#[path = "../../server/tests/counting/mod.rs"]
mod counting;

use counting::{Counting, allocations};
use hayami_tls::{
    Acceptor, ClientSession, ClientSettings, Connector, Identity, Resumption, Session, Settings, Trust,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn an_open_session_allocates_nothing() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let (certificate, key) = (made.cert.der().to_vec(), made.signing_key.serialize_der());
    let identity = Identity::from_der(vec![certificate], key, "made here", 1_800_000_000).expect("it fits");
    let acceptor = Acceptor::new(vec![(vec![], Settings::new(vec![identity]))], &Resumption::off());
    let connector = Connector::new(&ClientSettings::new(Trust::Anyone)).expect("a connector");
    let mut client = ClientSession::new(&connector, "localhost").expect("a name");
    let mut server = Session::new(&acceptor.expect("an acceptor"));
    let (mut up, mut down, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    client.start(&mut up);
    while !up.is_empty() {
        server.receive(&mut up, &mut plain, &mut down).expect("an honest client");
        client.receive(&mut down, &mut plain, &mut up).expect("an honest server");
    }
    for round in 0..100 {
        server.seal(&[b'x'; 700], &mut down);
        let before = allocations();
        client.seal(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", &mut up);
        client.receive(&mut down, &mut plain, &mut up).expect("an honest server");
        let counted = allocations() - before;
        assert!(round == 0 || counted == 0, "round {round}: {counted} allocations");
        assert_eq!(plain.len(), 700);
        plain.clear();
        up.clear();
    }
}
