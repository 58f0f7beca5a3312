//! Behaviour of exchanges with any protocol: one table, run over HTTP/1.1, HTTP/2, and a protocol that implements
//! only what [`Protocol`](super::Protocol) requires. HTTP/3 is to be the next row of [`over_all`].

mod memory;
mod site;
mod wire;

use crate::clock::Instant;
use crate::service::{Address, ConnectionInfo};
use crate::worker::Worker;
use hayami_http::{FieldSection, Source};
use memory::Memory;
use site::{LARGE, LIMIT, Site, Stage};
use std::cell::Cell;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use wire::{Http1, Http2, Wired};

/// The content of a request.
#[derive(Clone, Copy)]
enum Body {
    None,
    Length(u64),
    Unknown,
}

/// What a client has received of the response.
#[derive(Debug, Default)]
struct Seen {
    interim: Vec<u16>,
    status: Option<u16>,
    content: Vec<u8>,
    trailers: Vec<String>,
    /// The response is complete.
    ended: bool,
    /// The response was aborted.
    reset: bool,
    /// The client was told to stop sending.
    stopped: bool,
    /// The connection was closed.
    closed: bool,
}

impl Seen {
    fn note_trailers(&mut self, trailers: Option<FieldSection>) {
        let trailers = trailers.unwrap_or_default();
        self.trailers.extend(trailers.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()));
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.content).expect("text")
    }
}

/// A client with one request at a time, and its server, which runs only in the client's turns.
trait Client {
    fn new() -> Self;
    fn stage(&self) -> &Stage;
    fn worker(&self) -> &Worker<Site>;
    fn seen(&self) -> &Seen;
    fn request(&mut self, path: &str, body: Body, fields: &str);
    fn connect(&mut self, authority: &str);
    fn send(&mut self, bytes: &[u8]);
    /// Ends the request, or the client's side of a tunnel.
    fn end(&mut self, trailers: Option<FieldSection>);
    /// Closes the client's half of the connection.
    fn half_close(&mut self);
    /// Cancels the request.
    fn leave(&mut self);
    /// Sets whether the client reads, and grants credit.
    fn read(&mut self, reads: bool);
    /// Runs both sides until nothing moves.
    fn turn(&mut self);
    fn pass(&mut self, time: Duration);

    /// Sends a request and runs a turn.
    fn ask(&mut self, path: &str, body: Body) -> &Seen {
        self.request(path, body, "");
        self.turn();
        self.seen()
    }

    fn say(&mut self, bytes: &[u8]) -> &Seen {
        self.send(bytes);
        self.turn();
        self.seen()
    }

    fn finish(&mut self) -> &Seen {
        self.end(None);
        self.turn();
        self.seen()
    }

    fn open(&mut self) -> &Seen {
        self.stage().open();
        self.turn();
        self.seen()
    }

    /// Checks that a complete response was received.
    fn check(&self, status: u16, text: &str) {
        let seen = self.seen();
        assert_eq!((seen.status, seen.text(), seen.reset), (Some(status), text, false), "{seen:?}");
        assert!(seen.ended, "{seen:?}");
    }

    /// Checks that the next request is answered.
    fn check_next(&mut self) {
        self.ask("/now", Body::None);
        self.check(200, "now");
    }
}

fn info() -> ConnectionInfo {
    ConnectionInfo {
        id: 1,
        listener: 0,
        peer: Address::Unix,
        local: Address::Unix,
        accepted: Instant::now(),
        tls: None,
        ends: Cell::new(false),
        cancel_on_close: Cell::new(false),
        outdated: Default::default(),
    }
}

/// Runs a table of behaviours over all protocols.
macro_rules! over_all {
    ($($behaviour:ident)*) => {
        over_all!(memory: Memory; $($behaviour)*);
        over_all!(http1: Wired<Http1>; $($behaviour)*);
        over_all!(http2: Wired<Http2>; $($behaviour)*);
    };
    ($protocol:ident: $client:ty; $($behaviour:ident)*) => {
        mod $protocol {
            use super::*;
            $(#[test] fn $behaviour() { super::$behaviour::<$client>(); })*
        }
    };
}

mod over {
    use super::*;

    over_all! {
        an_answer_that_is_ready_has_no_exchange
        a_late_answer_goes_out_when_it_is_there
        what_is_said_before_the_answer_goes_out_at_once
        content_reaches_its_reader_with_its_trailers
        the_client_is_asked_for_content_that_is_wanted_and_no_other
        content_without_a_reader_is_thrown_away
        too_much_content_without_a_reader_is_stopped
        content_whose_reader_stops_halfway_is_thrown_away
        an_echo_comes_back_while_the_content_goes_in
        trailers_follow_the_content
        content_that_fails_does_not_look_complete
        a_client_that_does_not_read_holds_its_response_up
        a_client_that_does_not_read_for_long_is_given_up
        content_that_does_not_come_is_refused_by_its_reader
        content_over_the_limit_is_refused_by_its_reader
        an_answer_that_costs_others_work_is_given_up_with_its_client
        a_response_is_broken_off_with_its_client
        a_client_that_has_nothing_more_to_say_is_answered
        a_tunnel_goes_both_ways_until_its_client_ends
        a_tunnel_whose_server_has_ended_still_hears_its_client
        a_tunnel_that_has_lost_its_reader_is_stopped
        a_tunnel_that_breaks_is_reset
        the_client_of_a_tunnel_is_heard_while_it_does_not_read
    }
}

fn an_answer_that_is_ready_has_no_exchange<C: Client>() {
    let mut client = C::new();
    client.ask("/now", Body::None);
    client.check(200, "now");
    client.check_next();
    assert_eq!(client.worker().exchanges.kept(), 0);
    assert_eq!(client.stage().news(), ["complete after 3"; 2]);
}

fn a_late_answer_goes_out_when_it_is_there<C: Client>() {
    let mut client = C::new();
    assert_eq!(client.ask("/late", Body::None).status, None);
    client.open();
    client.check(200, "late");
    assert_eq!(client.worker().exchanges.kept(), 1, "its memory is there for the next one");
    assert_eq!(client.stage().news(), ["dropped", "complete after 4"]);
    client.check_next();
}

fn what_is_said_before_the_answer_goes_out_at_once<C: Client>() {
    let mut client = C::new();
    let seen = client.ask("/hint", Body::None);
    assert_eq!((&seen.interim[..], seen.status), (&[103][..], None));
    client.open();
    client.check(200, "hinted");
}

fn content_reaches_its_reader_with_its_trailers<C: Client>() {
    let mut client = C::new();
    for (body, trailers, want) in [
        (Body::Length(7), None, "7 bytes"),
        (Body::Unknown, None, "7 bytes"),
        (Body::Unknown, Some("checksum"), "7 bytes checksum"),
    ] {
        client.ask("/sum", body);
        client.say(b"abc");
        assert_eq!(client.say(b"defg").status.filter(|_| matches!(body, Body::Unknown)), None);
        client.end(trailers.map(|name| {
            let mut trailers = FieldSection::default();
            trailers.append(name.as_bytes(), b"1");
            trailers
        }));
        client.turn();
        client.check(200, want);
    }
}

fn the_client_is_asked_for_content_that_is_wanted_and_no_other<C: Client>() {
    let mut client = C::new();
    client.request("/sum", Body::Length(3), "expect: 100-continue\r\n");
    client.turn();
    assert_eq!((&client.seen().interim[..], client.seen().status), (&[100][..], None));
    client.say(b"abc");
    client.finish();
    client.check(200, "3 bytes");
    client.request("/late", Body::Length(3), "expect: 100-continue\r\n");
    client.turn();
    assert_eq!(client.seen().interim, []);
    client.open();
    client.check(200, "late");
    assert_eq!(client.seen().interim, []);
}

fn content_without_a_reader_is_thrown_away<C: Client>() {
    let mut client = C::new();
    client.ask("/now", Body::Length(100_000));
    client.check(200, "now");
    let seen = client.say(&[b'x'; 100_000]);
    assert!(!seen.stopped && !seen.closed, "{seen:?}");
    client.finish();
    client.check_next();
}

fn too_much_content_without_a_reader_is_stopped<C: Client>() {
    let mut client = C::new();
    client.ask("/now", Body::Unknown);
    client.check(200, "now");
    client.say(&vec![b'x'; super::DISCARD as usize]);
    let seen = client.say(b"x");
    assert!(seen.stopped, "{:?} {:?}", seen.stopped, seen.closed);
}

fn content_whose_reader_stops_halfway_is_thrown_away<C: Client>() {
    let mut client = C::new();
    client.ask("/half", Body::Length(100_000));
    client.say(&[b'x'; 50_000]);
    client.open();
    client.check(200, "xxx");
    let seen = client.say(&[b'x'; 50_000]);
    assert!(!seen.stopped && !seen.closed, "{seen:?}");
    client.finish();
    client.check_next();
}

fn an_echo_comes_back_while_the_content_goes_in<C: Client>() {
    let mut client = C::new();
    client.ask("/echo", Body::Unknown);
    for (word, all) in [("one", "one"), ("three", "onethree"), ("seventeen", "onethreeseventeen")] {
        let seen = client.say(word.as_bytes());
        assert_eq!((seen.text(), seen.ended), (all, false));
    }
    client.finish();
    client.check(200, "onethreeseventeen");
    assert_eq!(client.stage().news(), ["complete after 17"]);
}

fn trailers_follow_the_content<C: Client>() {
    let mut client = C::new();
    client.ask("/trailed", Body::None);
    client.check(200, "abcdef");
    assert_eq!(client.seen().trailers, ["checksum"]);
    client.check_next();
}

fn content_that_fails_does_not_look_complete<C: Client>() {
    let mut client = C::new();
    let seen = client.ask("/broken", Body::None);
    assert_eq!((seen.status, seen.ended, seen.reset), (Some(200), false, true), "{seen:?}");
    assert!(client.stage().news()[0].starts_with("broken off after "));
}

fn a_client_that_does_not_read_holds_its_response_up<C: Client>() {
    let mut client = C::new();
    client.read(false);
    client.ask("/large", Body::None);
    assert!(client.stage().pulled.get() < LARGE / 4, "{}", client.stage().pulled.get());
    client.read(true);
    client.turn();
    assert_eq!(client.seen().content.len(), LARGE);
    assert!(client.seen().ended);
    assert_eq!(client.stage().news(), [format!("complete after {LARGE}")]);
}

fn a_client_that_does_not_read_for_long_is_given_up<C: Client>() {
    let mut client = C::new();
    client.read(false);
    client.ask("/large", Body::None);
    for _ in 0..30 {
        client.pass(Duration::from_secs(3));
    }
    client.read(true);
    client.turn();
    assert!(client.seen().reset && !client.seen().ended);
    let news = client.stage().news();
    assert!(news.len() == 1 && news[0].starts_with("broken off after "), "{news:?}");
}

fn content_that_does_not_come_is_refused_by_its_reader<C: Client>() {
    let mut client = C::new();
    client.ask("/sum", Body::Length(9));
    client.say(b"abc");
    for _ in 0..5 {
        assert_eq!(client.seen().status, None);
        client.pass(Duration::from_millis(900));
    }
    for _ in 0..3 {
        client.pass(Duration::from_millis(900));
    }
    client.check(408, "refused");
}

fn content_over_the_limit_is_refused_by_its_reader<C: Client>() {
    let mut client = C::new();
    client.ask("/sum", Body::Unknown);
    assert_eq!(client.say(&vec![b'x'; LIMIT as usize]).status, None);
    client.say(b"x");
    client.check(413, "refused");
}

fn an_answer_that_costs_others_work_is_given_up_with_its_client<C: Client>() {
    let mut client = C::new();
    client.ask("/given-up", Body::None);
    assert_eq!(client.stage().news(), [""; 0]);
    client.leave();
    client.turn();
    assert_eq!(client.stage().news(), ["dropped"]);
}

fn a_response_is_broken_off_with_its_client<C: Client>() {
    let mut client = C::new();
    client.ask("/echo", Body::Unknown);
    client.say(b"abc");
    client.leave();
    client.turn();
    assert_eq!(client.stage().news(), ["broken off after 3"]);
}

fn a_client_that_has_nothing_more_to_say_is_answered<C: Client>() {
    let mut client = C::new();
    client.ask("/late", Body::None);
    client.half_close();
    assert_eq!(client.seen().status, None);
    client.open();
    client.check(200, "late");
}

fn a_tunnel_goes_both_ways_until_its_client_ends<C: Client>() {
    let mut client = C::new();
    client.connect("echo:1");
    client.turn();
    assert_eq!((client.seen().status, client.seen().ended), (Some(200), false));
    assert_eq!(client.say(b"abc").text(), "abc");
    assert_eq!(client.say(b"def").text(), "abcdef");
    client.finish();
    client.check(200, "abcdef");
    assert_eq!(client.stage().news(), ["complete after 6"]);
}

fn a_tunnel_whose_server_has_ended_still_hears_its_client<C: Client>() {
    let mut client = C::new();
    client.connect("hears:1");
    client.turn();
    client.check(200, "word");
    client.say(b"abc");
    client.finish();
    let mut content = client.stage().heard.take().expect("a tunnel");
    let mut heard = Vec::new();
    let filled = content.fill(&mut Context::from_waker(Waker::noop()), 9, &mut heard);
    assert!(matches!(filled, Poll::Ready(Ok(true))) && heard == b"abc", "{filled:?} {heard:?}");
    assert_eq!(client.stage().news(), ["complete after 4"]);
}

fn a_tunnel_that_has_lost_its_reader_is_stopped<C: Client>() {
    let mut client = C::new();
    client.connect("hears:1");
    client.turn();
    drop(client.stage().heard.take());
    client.turn();
    assert!(client.seen().ended && (client.seen().stopped || client.seen().closed), "{:?}", client.seen());
    assert_eq!(client.stage().news(), ["complete after 4"]);
}

fn a_tunnel_that_breaks_is_reset<C: Client>() {
    let mut client = C::new();
    client.connect("breaks:1");
    client.turn();
    assert!(client.seen().reset && !client.seen().ended, "{:?}", client.seen());
    assert!(client.stage().news()[0].starts_with("broken off after "));
}

fn the_client_of_a_tunnel_is_heard_while_it_does_not_read<C: Client>() {
    let mut client = C::new();
    client.connect("echo:1");
    client.turn();
    client.read(false);
    let sent: Vec<u8> = (0..150_000_u32).map(|at| at as u8).collect();
    client.say(&sent);
    client.read(true);
    client.turn();
    assert!(client.seen().content == sent, "{} bytes", client.seen().content.len());
    client.finish();
    assert!(client.seen().ended);
}
