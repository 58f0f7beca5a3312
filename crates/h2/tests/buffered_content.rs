//! Windows of streams whose content is buffered until it is consumed.

mod support;

use hayami_h2::{Config, Event, PREFACE, Server};
use hayami_http::RequestHead;
use support::*;

/// The time of one frame and its answer, in milliseconds.
const ROUND_TRIP: u32 = 100;

/// The initial windows, and the size up to which a single one may grow.
const SMALL: u32 = 64 * 1024;
const LARGEST: u32 = SMALL + 256 * 1024;

struct Peer {
    config: Config,
    server: Server<()>,
    now: u32,
    out: Vec<u8>,
}

impl Peer {
    fn new(config: Config) -> Self {
        let mut peer = Self { server: Server::new(&config), config, now: 0, out: Vec::new() };
        peer.server.start(&peer.config, &mut peer.out);
        peer.read(&[&PREFACE[..], &settings(&[])].concat(), 0);
        peer.now = ROUND_TRIP;
        peer.read(&frame(SETTINGS, 1, 0, b""), 0);
        peer
    }

    /// Receives; content is consumed `wait` milliseconds later. How many bytes the stream is granted.
    fn read(&mut self, wire: &[u8], wait: u32) -> u32 {
        self.out.clear();
        let (mut head, mut rest) = (RequestHead::default(), wire);
        loop {
            let received = self.server.receive(&self.config, self.now, rest, &mut head, &mut self.out);
            let received = received.expect("no fault");
            rest = &rest[received.consumed..];
            match received.event {
                Event::More => return granted(&self.out),
                Event::Content { key, len, .. } => {
                    self.server.release_connection_window(&self.config, key, len, &mut self.out);
                    self.now += wait;
                    self.server.release_stream_window(&self.config, key, len, &mut self.out);
                }
                _ => {}
            }
        }
    }

    /// Sends half a megabyte of content on a stream whose window is `window`; its window afterwards.
    fn send(&mut self, stream: u32, mut window: u32, wait: u32) -> u32 {
        for _ in 0..32 {
            assert!(window >= 16_384, "the window is opened before it is used up");
            window += self.read(&frame(DATA, 0, stream, &[0; 16_384]), wait);
            window -= 16_384;
        }
        window
    }
}

/// What WINDOW_UPDATE frames grant to streams.
fn granted(mut out: &[u8]) -> u32 {
    let mut sum = 0;
    while let [a, b, c, kind, _, stream @ ..] = out
        && let [s0, s1, s2, s3, rest @ ..] = stream
    {
        let len = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        let of_stream = u32::from_be_bytes([*s0, *s1, *s2, *s3]) > 0;
        if *kind == WINDOW_UPDATE && of_stream {
            sum += u32::from_be_bytes(rest[..4].try_into().expect("four bytes"));
        }
        out = &rest[len..];
    }
    sum
}

fn config() -> Config {
    Config { initial_window: SMALL, max_windows_grown: LARGEST - SMALL, ..Config::default() }
}

#[test]
fn a_window_grows_while_content_is_consumed_as_fast_as_it_comes() {
    let mut peer = Peer::new(config());
    peer.read(&post(1), 0);
    let window = peer.send(1, SMALL, 0);
    // Up to half a window may be consumed and not granted yet.
    assert!((LARGEST / 2..=LARGEST).contains(&window), "{window}");
}

#[test]
fn a_window_stays_as_it_is_while_content_is_consumed_slowly() {
    let mut peer = Peer::new(config());
    peer.read(&post(1), 0);
    let window = peer.send(1, SMALL, 2 * ROUND_TRIP);
    assert!((SMALL / 2..=SMALL).contains(&window), "{window}");
}

#[test]
fn the_windows_of_a_connection_grow_together_to_a_bound_which_ended_streams_give_back() {
    let mut peer = Peer::new(config());
    peer.read(&post(1), 0);
    peer.read(&post(3), 0);
    assert!(peer.send(1, SMALL, 0) > SMALL);
    let second = peer.send(3, SMALL, 0);
    assert!(second <= SMALL, "the first has grown by all there is: {second}");
    peer.read(&rst_stream(1, 8), 0);
    assert!(peer.send(3, second, 0) > SMALL, "what it had grown by is free again");
}
