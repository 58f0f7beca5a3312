//! Named attacks, which are stopped; and similar legitimate traffic, which is not.

mod support;

use hayami_h2::{Config, Event, Fault, Kind, Server};
use hayami_http::{FieldSection, RequestHead, ResponseHead, Status};
use support::*;

/// A server that answers, fed frame by frame at times of the test's choosing.
struct Served {
    config: Config,
    server: Server<u32>,
    head: RequestHead,
    out: Vec<u8>,
    input: Vec<u8>,
    now: u32,
    answers: bool,
}

impl Served {
    fn new(answers: bool) -> Self {
        let config = Config { max_concurrent_streams: 1020, ..Config::default() };
        let server = Server::new(&config);
        let (head, out, input) = (RequestHead::default(), Vec::new(), Vec::new());
        let mut this = Self { config, server, head, out, input, now: 0, answers };
        this.server.start(&this.config, &mut this.out);
        this.feed(&beginning()).expect("a beginning");
        this
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.input.extend_from_slice(bytes);
        let mut at = 0;
        loop {
            self.out.clear();
            let input = &self.input[at..];
            let received =
                self.server.receive(&self.config, self.now, input, &mut self.head, &mut self.out)?;
            at += received.consumed;
            match received.event {
                Event::More => break,
                Event::Request { key, .. } if self.answers => {
                    let head = ResponseHead::new(Status::OK);
                    let common = FieldSection::default();
                    self.server.send_head(key, &head, None, &common, 1, &mut self.out);
                    self.server.send_data(key, b"x", true, &mut self.out);
                }
                Event::Content { key, len, .. } => {
                    self.server.consumed(&self.config, key, len, &mut self.out);
                }
                _ => {}
            }
            assert!(self.out.len() < 200, "answers of the engine's own are small");
        }
        self.input.drain(..at);
        Ok(())
    }

    /// Feeds a frame for each number until one is too much; returns how many were accepted.
    fn flood(&mut self, most: u32, frames: impl Fn(u32) -> Vec<u8>) -> Result<u32, (u32, Fault)> {
        for number in 0..most {
            self.feed(&frames(number)).map_err(|fault| (number, fault))?;
        }
        Ok(most)
    }
}

fn id(number: u32) -> u32 {
    number * 2 + 1
}

#[test]
fn each_attack_meets_its_budget() {
    type Attack = (Kind, Fault, bool, fn(u32) -> Vec<u8>);
    let attacks: [Attack; 14] = [
        (Kind::RapidReset, Fault::RapidReset, false, |n| [get(id(n)), rst_stream(id(n), 8)].concat()),
        (Kind::ProvokedReset, Fault::ProvokedResets, false, |n| {
            [post(id(n)), window_update(id(n), 0)].concat()
        }),
        (Kind::ProvokedReset, Fault::ProvokedResets, false, |n| {
            [post(id(n)), window_update(id(n), 0x7fff_ffff)].concat()
        }),
        (Kind::ProvokedReset, Fault::ProvokedResets, false, |n| {
            frame(HEADERS, END | WHOLE, id(n), &block(&[("X", "y")]))
        }),
        (Kind::Refused, Fault::RefusedFlood, false, |n| post(id(n))),
        (Kind::EmptyData, Fault::EmptyFrameFlood, false, |n| match n {
            0 => post(1),
            _ => frame(DATA, 0, 1, b""),
        }),
        (Kind::EmptyData, Fault::EmptyFrameFlood, false, |n| match n {
            0 => post(1),
            _ => frame(DATA, PADDED, 1, b"\x03\0\0\0"),
        }),
        (Kind::Settings, Fault::SettingsFlood, false, |_| settings(&[(4, 5)])),
        (Kind::Ping, Fault::PingFlood, false, |_| frame(PING, 0, 0, &[0; 8])),
        (Kind::Priority, Fault::PriorityFlood, false, |_| frame(PRIORITY, 0, 9, b"\0\0\0\x01\x05")),
        (Kind::Priority, Fault::PriorityFlood, false, |n| {
            frame(PRIORITY_UPDATE, 0, 0, &[&id(n).to_be_bytes()[..], b"u=1"].concat())
        }),
        (Kind::Unknown, Fault::UnknownFlood, false, |_| frame(0x42, 0, 0, b"")),
        (Kind::TinyWindow, Fault::TinyWindowFlood, false, |_| window_update(0, 1)),
        (Kind::Stale, Fault::StaleFlood, true, |n| match n {
            0 => get(1),
            _ => rst_stream(1, 8),
        }),
    ];
    for (kind, fault, answers, frames) in attacks {
        let mut served = Served::new(answers);
        let (number, met) = served.flood(20_000, frames).expect_err("too much");
        assert_eq!(met, fault);
        assert!((90..5000).contains(&number), "{kind:?} is stopped after {number}");
        assert!(served.server.abuse().total(kind) >= 100);
        assert!(served.server.is_over());
    }
}

#[test]
fn streams_that_were_answered_count_only_once_there_are_as_many_again() {
    let mut served = Served::new(true);
    let most = served.config.max_concurrent_streams;
    for number in 0..2 * most {
        served.feed(&post(id(number))).expect("no fault");
    }
    assert_eq!(served.server.abuse().total(Kind::Refused), 0);
    served.feed(&post(id(2 * most))).expect("no fault");
    assert_eq!(served.server.abuse().total(Kind::Refused), 1);
    let mut unanswered = Served::new(false);
    for number in 0..=most {
        unanswered.feed(&post(id(number))).expect("no fault");
    }
    assert_eq!(unanswered.server.abuse().total(Kind::Refused), 1);
}

#[test]
fn pings_are_paid_for_by_content() {
    let mut served = Served::new(false);
    served.feed(&post(1)).expect("a request");
    let with_content = |_| [frame(DATA, 0, 1, b"x"), frame(PING, 0, 0, &[0; 8])].concat();
    assert_eq!(served.flood(5000, with_content), Ok(5000));
    let flooded = served.flood(5000, |_| frame(PING, 0, 0, &[0; 8]));
    assert_eq!(flooded.expect_err("too much").1, Fault::PingFlood);
}

#[test]
fn continuation_floods_are_stopped_by_frames_and_by_bytes() {
    for (piece, most) in [(0, 33), (5000, 22)] {
        let mut served = Served::new(false);
        served.feed(&frame(HEADERS, END, 1, &[])).expect("a beginning");
        let payload = vec![0x82; piece];
        let flooded = served.flood(100, |_| frame(CONTINUATION, 0, 1, &payload));
        let (number, fault) = flooded.expect_err("too much");
        assert_eq!(fault, Fault::ContinuationFlood);
        assert!(number < most, "{number}");
    }
}

#[test]
fn a_bomb_of_table_entries_is_not_unpacked() {
    let mut served = Served::new(false);
    // An entry of 4,000 bytes, then a reference to it for each byte of the block.
    let name = [&[0x40, 1, b'x', 127, 0xa1, 0x1e][..], &[b'v'; 4000]].concat();
    let bomb = [&block(GET)[..], &name, &[0xbe; 12_000]].concat();
    let flooded = served.flood(200, |n| frame(HEADERS, END | WHOLE, id(n), &bomb));
    let (number, fault) = flooded.expect_err("too much");
    assert_eq!((number, fault), (100, Fault::LargeHeadFlood));
    assert!(served.head.fields().bytes().len() < 110_000, "{}", served.head.fields().bytes().len());
}

#[test]
fn half_open_streams_are_bounded() {
    let mut served = Served::new(false);
    served.flood(1020, |n| post(id(n))).expect("as many as allowed");
    assert_eq!(served.server.streams(), 1020);
    served.feed(&post(id(1020))).expect("refused");
    assert_eq!(served.server.streams(), 1020);
    assert_eq!(served.server.abuse().total(Kind::Refused), 1);
}

#[test]
fn content_that_waits_for_a_window_only_is_told() {
    let mut served = Served::new(false);
    served.feed(&settings(&[(4, 0)])).expect("fine");
    let mut out = Vec::new();
    let received = served.server.receive(&served.config, 0, &get(1), &mut served.head, &mut out);
    let Ok(Event::Request { key, .. }) = received.map(|received| received.event) else { panic!("a request") };
    served.server.send_head(key, &ResponseHead::new(Status::OK), None, &FieldSection::default(), 1, &mut out);
    assert!(!served.server.has_stalled(), "nothing waits");
    served.server.set_ready(key, true);
    assert!(served.server.has_stalled() && served.server.next().is_none());
    served.feed(&window_update(1, 2)).expect("a window");
    assert!(!served.server.has_stalled());
    assert_eq!(served.server.next(), Some((key, 2)));
    served.server.send_data(key, b"hi", false, &mut out);
    assert!(served.server.has_stalled());
}

#[test]
fn honest_clients_are_not_stopped() {
    // A million requests, answered.
    let mut busy = Served::new(true);
    busy.feed(&window_update(0, 0x7000_0000)).expect("fine");
    busy.flood(1_000_000, |n| get(id(n))).expect("only requests");

    // A page of 1,000 images, left half way, again and again; each load answers some.
    let mut browser = Served::new(false);
    for load in 0..200 {
        browser.now = load * 10_000;
        browser.flood(1000, |n| get(id(load * 1000 + n))).expect("requests");
        browser.flood(1000, |n| rst_stream(id(load * 1000 + n), 8)).expect("canceled");
    }

    // A client that receives content and grants windows for every piece, some after the end of the stream.
    let mut careful = Served::new(true);
    let grants = |n| [get(id(n)), window_update(0, 1), window_update(id(n), 1), window_update(0, 1)].concat();
    careful.flood(50_000, grants).expect("grants");

    // PINGs every 30 ms, SETTINGS and priorities now and then, for an hour.
    let mut steady = Served::new(true);
    for tick in 0..120_000 {
        steady.now = tick * 30;
        steady.feed(&frame(PING, 0, 0, &[0; 8])).expect("a ping");
        if tick % 30 == 0 {
            steady.feed(&settings(&[(4, 65_535)])).expect("settings");
            steady.feed(&frame(PRIORITY_UPDATE, 0, 0, b"\x00\x10\0\x01u=1")).expect("a priority");
            steady.feed(&frame(0xbb, 0, 0, b"grease")).expect("an unknown frame");
        }
    }
}

#[test]
fn an_upload_that_is_reset_may_still_be_on_its_way_as_far_as_its_window_goes() {
    let mut served = Served::new(true);
    served.feed(&post(1)).expect("a request, answered at once");
    let content = frame(DATA, 0, 1, &[0; 1400]);
    served.flood(20, |_| content.clone()).expect("content");
    // The caller refuses it.
    let config = served.config;
    let mut head = RequestHead::default();
    let mut out = Vec::new();
    let received = served.server.receive(&config, 0, &post(3), &mut head, &mut out).expect("a request");
    let Event::Request { key, .. } = received.event else { panic!("a request") };
    served.server.reset(key, hayami_h2::ErrorCode::NO_ERROR, &mut out);
    let content = frame(DATA, 0, 3, &[0; 1400]);
    let window = config.initial_window / 1400;
    served.flood(window, |_| content.clone()).expect("dropped, and granted again to the connection");
    assert_eq!(served.flood(1, |_| content.clone()), Err((0, Fault::DiscardedFlood)));
}

#[test]
fn what_may_come_on_closed_streams_is_what_they_had_left_and_no_more_in_all_than_the_connection_takes() {
    let config = Config::default();
    let mut served = Served::new(false);
    // Each is refused for its head, and the client may have sent a window's worth of content before it knows.
    let refused = |n: u32| frame(HEADERS, WHOLE, id(n), &block(&[("X", "y")]));
    let content = |n: u32, len: usize| frame(DATA, 0, id(n), &vec![0; len]);
    for n in 0..10 {
        served.feed(&refused(n)).expect("a stream error");
    }
    let each = 16_000;
    let most = 10 * config.initial_window / each;
    let went = served.flood(1000, |n| content(n % 10, each as usize));
    assert_eq!(went, Err((most, Fault::DiscardedFlood)));
    let mut served = Served::new(false);
    for n in 0..100 {
        served.feed(&refused(n)).expect("a stream error");
    }
    let most = config.connection_window / each;
    let went = served.flood(1000, |n| content(n % 100, each as usize));
    assert_eq!(went, Err((most, Fault::DiscardedFlood)));
}

#[test]
fn content_of_streams_after_our_goaway_is_bounded_too() {
    let mut served = Served::new(false);
    served.feed(&post(1)).expect("a request");
    let mut out = Vec::new();
    served.server.go_away(&mut out);
    served.server.go_away(&mut out);
    served.feed(&post(3)).expect("it crossed with our GOAWAY");
    let content = frame(DATA, 0, 3, &[0; 16_000]);
    assert_eq!(served.flood(100, |_| content.clone()), Err((4, Fault::DiscardedFlood)));
}
