//! Late wake-ups, when another connection has taken over the slot of the target.

use hayami_h1::Limits;
use hayami_http::{Response, Status};
use hayami_net::listen::{Endpoint, Options, bind, bound_address};
use hayami_net::service::{Address, Answer, Outcome, Refusal, Request, Service};
use hayami_net::{ByteBudget, Config, Http2Config, Listener, Phase, Quota, Timeouts, run};
use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Poll, Waker};
use std::time::Duration;
use tokio::sync::watch;

/// What happened to the response of a connection.
enum News {
    /// It was polled; the waker would cause another poll.
    Asked(u64, Waker),
    /// It was dropped.
    Dropped,
}

/// Never answers `/wait`, and reports what happens to its response; answers everything else at once.
struct Site(Sender<News>);

/// Reports when it is dropped.
struct Guard(Sender<News>);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.send(News::Dropped);
    }
}

impl Service for Site {
    fn respond(&self, request: &mut Request<'_>) -> Outcome {
        if request.head.path() != b"/wait" {
            return Outcome::Ready(Response::text(Status::OK, "now").into());
        }
        let (guard, id) = (Guard(self.0.clone()), request.connection.id);
        // The connection ends with its client.
        request.connection.cancel_on_close.set(true);
        Outcome::Later(Box::pin(poll_fn(move |cx| {
            let _ = guard.0.send(News::Asked(id, cx.waker().clone()));
            Poll::Pending
        })))
    }

    fn refuse(&self, refusal: &Refusal, _: &mut Request<'_>) -> Answer {
        Response::text(refusal.status(), "refused").into()
    }

    fn server_name(&self) -> Option<&[u8]> {
        None
    }
}

fn server() -> (SocketAddr, watch::Sender<Phase>, Receiver<News>, std::thread::JoinHandle<()>) {
    let fd = bind(&Endpoint::Tcp(([127, 0, 0, 1], 0).into()), &Options::default()).expect("a free port");
    let bound = bound_address(&fd);
    let Address::Ip(address) = bound else { panic!("an IP address") };
    let (phase, phases) = watch::channel(Phase::Run);
    let (tell, told) = channel();
    let thread = std::thread::spawn(move || {
        let config = Config {
            cpu: None,
            listeners: vec![Listener {
                fd,
                index: 0,
                queue: 0,
                address: bound,
                tls: None,
                proxy_protocol: None,
            }],
            limits: Limits::default(),
            http2: Http2Config::default(),
            timeouts: Timeouts::default(),
            upstreams: Default::default(),
            content: Arc::new(ByteBudget::new(1 << 30)),
            quota: Arc::new(Quota::new(9, None)),
            ready: Box::new(|| ()),
        };
        run(config, phases, |_, _| Ok(Site(tell))).expect("ran");
    });
    (address, phase, told, thread)
}

fn connect(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    send(&mut stream, path);
    stream
}

fn send(stream: &mut TcpStream, path: &str) {
    write!(stream, "GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").expect("sent");
}

/// Reads one response, after which the worker has completed a round of its loop.
fn read_answer(stream: &mut TcpStream) {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"now") {
        let mut some = [0; 512];
        let count = stream.read(&mut some).expect("an answer");
        assert!(count > 0, "the server closed");
        bytes.extend_from_slice(&some[..count]);
    }
}

#[test]
fn a_late_wake_up_does_not_reach_the_next_connection_of_the_slot() {
    let (address, phase, told, thread) = server();
    let news = || told.recv_timeout(Duration::from_secs(20)).expect("news of the answer");
    let asked = || match news() {
        News::Asked(id, waker) => (id, waker),
        News::Dropped => panic!("the answer was dropped"),
    };
    let mut other = connect(address, "/");
    read_answer(&mut other);
    let first = connect(address, "/wait");
    let (first_id, late) = asked();
    drop(first);
    assert!(matches!(news(), News::Dropped), "the slot is free");
    let second = connect(address, "/wait");
    let (second_id, waker) = asked();
    assert_ne!(first_id, second_id);
    late.wake();
    // After two responses, the worker has handled all earlier wake-ups.
    for _ in 0..2 {
        send(&mut other, "/");
        read_answer(&mut other);
    }
    assert!(told.try_recv().is_err(), "the late wake-up had the second answer asked for again");
    waker.wake();
    assert_eq!(asked().0, second_id, "its own wake-ups reach it");
    drop((second, other));
    phase.send(Phase::Drain).expect("it runs");
    thread.join().expect("ended well");
}
