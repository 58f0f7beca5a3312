//! Records of TLS between a server and a client.

use hayami_tls::resumption::{self, Resumption};
use hayami_tls::{Acceptor, ClientSession, ClientSettings, Connector, Identity, Session, Settings, Trust};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) fn records(times: u32) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let key = made.signing_key.serialize_der();
    let identity =
        Identity::from_der(vec![made.cert.der().to_vec()], key, "made here", now).expect("it fits");
    let resumption = Resumption::new(&resumption::Settings::default(), Arc::new(|_, _| ())).expect("none");
    let acceptor =
        Acceptor::new(vec![(vec![], Settings::new(vec![identity]))], &resumption).expect("an acceptor");
    let connector = Connector::new(&ClientSettings::new(Trust::Anyone)).expect("a connector");
    let mut client = ClientSession::new(&connector, "localhost").expect("a client");
    let mut server = Session::new(&acceptor);
    let (mut up, mut down, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    client.start(&mut up);
    while !up.is_empty() {
        server.receive(&mut up, &mut plain, &mut down).expect("an honest client");
        client.receive(&mut down, &mut plain, &mut up).expect("an honest server");
    }
    // Past the small records of the beginning.
    for len in [128 * 1024, 1_024] {
        server.seal(&vec![b'x'; len], &mut down);
        client.receive(&mut down, &mut plain, &mut up).expect("an honest server");
        assert_eq!(plain.len(), len);
        plain.clear();
    }
    let content = [b'x'; 1_024];
    for _ in 0..times {
        server.seal(black_box(&content), &mut down);
        client.receive(&mut down, &mut plain, &mut up).expect("an honest server");
        assert_eq!(plain.len(), 1_024);
        plain.clear();
    }
}
