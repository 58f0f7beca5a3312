//! One encoder for all codings: input in, encoded bytes out, all in memory.
//!
//! The memory of an encoder is limited by its window: 32 KiB for gzip, 512 KiB for br and zstd, and by the tables that
//! go with it. RFC 9659 requires clients of zstd to accept windows of up to 8 MiB.

use super::pool::Pool;
use super::settings::Target;
use brotli::CompressorWriter;
use brotli::enc::BrotliEncoderParams;
use flate2::{Compress, Compression, FlushCompress, Status};
use hayami_http::negotiate::Coding;
use std::cell::RefCell;
use std::io::{self, Write};
use zstd::stream::raw::{CParameter, Encoder as ZstdEncoder, InBuffer, Operation, OutBuffer};

/// The window of br and zstd: 512 KiB, as large as most pages. A larger one would cost each response more memory.
const WINDOW_BITS: u32 = 19;

/// The window of gzip, the largest possible: such an encoder can be reused for any content.
const GZIP_WINDOW_BITS: u8 = 15;

/// Minimum output space for an encoder.
const ROOM: usize = 16 * 1024;

thread_local! {
    /// Reset encoders, for reuse.
    static AGAIN: RefCell<Pool<Kind>> = const { RefCell::new(Pool::new()) };
}

/// What follows a piece of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// More input: the encoder may buffer.
    More,
    /// A pause: the client gets everything so far.
    Pause,
    /// The end.
    End,
}

/// The encoder of one response. When dropped, it is returned to the thread's pool.
pub(super) struct Encoder {
    target: Target,
    /// `None` after the end of br.
    kind: Option<Kind>,
    ended: bool,
}

/// The encoder of a coding.
pub(super) enum Kind {
    Gzip(Compress),
    Brotli(Box<CompressorWriter<Vec<u8>>>),
    Zstd(ZstdEncoder<'static>),
}

impl Encoder {
    /// Creates an encoder for content of that length, if it is known.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn new(target: Target, length: Option<u64>) -> io::Result<Self> {
        let kind = match AGAIN.with_borrow_mut(|pool| pool.take(target)) {
            Some(kind) => kind.prepared(length)?,
            None => Kind::new(target, length)?,
        };
        Ok(Self { target, kind: Some(kind), ended: false })
    }

    /// Appends the encoded `input` to `out`. Nothing may follow the end.
    ///
    /// # Errors
    /// Out of memory, or the content is longer or shorter than announced.
    pub(super) fn encode(&mut self, input: &[u8], then: Then, out: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.kind {
            Some(Kind::Gzip(encoder)) => gzip(encoder, input, then, out)?,
            Some(Kind::Zstd(encoder)) => zstd(encoder, input, then, out)?,
            Some(Kind::Brotli(_)) => self.encode_brotli(input, then, out)?,
            None => {}
        }
        self.ended = then == Then::End;
        Ok(())
    }

    fn encode_brotli(&mut self, input: &[u8], then: Then, out: &mut Vec<u8>) -> io::Result<()> {
        let Some(Kind::Brotli(mut encoder)) = self.kind.take() else { return Ok(()) };
        encoder.write_all(input)?;
        match then {
            Then::More => {}
            Then::Pause => encoder.flush()?,
            Then::End => {
                out.append(&mut encoder.into_inner());
                return Ok(());
            }
        }
        out.append(encoder.get_mut());
        self.kind = Some(Kind::Brotli(encoder));
        Ok(())
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        let Some(mut kind) = self.kind.take() else { return };
        if kind.can_begin_again(self.ended) && kind.reset().is_ok() {
            // The thread may be exiting.
            let _ = AGAIN.try_with(|pool| pool.borrow_mut().give(self.target, kind));
        }
    }
}

impl Kind {
    fn new(target: Target, length: Option<u64>) -> io::Result<Self> {
        let quality = i32::from(target.quality);
        match target.coding {
            Coding::Brotli => {
                let params = BrotliEncoderParams {
                    quality,
                    lgwin: window_bits(length, 16) as i32,
                    size_hint: length.map_or(0, |length| usize::try_from(length).unwrap_or(usize::MAX)),
                    ..BrotliEncoderParams::default()
                };
                Ok(Self::Brotli(Box::new(CompressorWriter::with_params(Vec::new(), ROOM, &params))))
            }
            Coding::Zstd => {
                let mut encoder = ZstdEncoder::new(quality)?;
                for parameter in tables(target.quality).into_iter().flatten() {
                    encoder.set_parameter(parameter)?;
                }
                Self::Zstd(encoder).prepared(length)
            }
            // Identity is no target.
            Coding::Gzip | Coding::Identity => {
                let level = Compression::new(u32::from(target.quality));
                Ok(Self::Gzip(Compress::new_gzip(level, GZIP_WINDOW_BITS)))
            }
        }
    }

    /// Whether it can be reused for other content; `ended`: the end of this content has been encoded.
    fn can_begin_again(&self, ended: bool) -> bool {
        match self {
            // Within a block, zlib-rs at quality 1 would continue that block, after the header of the next content.
            Self::Gzip(_) => ended,
            Self::Zstd(_) => true,
            Self::Brotli(_) => false,
        }
    }

    /// Discards the content so far.
    fn reset(&mut self) -> io::Result<()> {
        match self {
            Self::Gzip(encoder) => encoder.reset(),
            Self::Zstd(encoder) => encoder.reinit()?,
            Self::Brotli(_) => {}
        }
        Ok(())
    }

    /// Prepares a new or reset encoder for content of that length.
    fn prepared(mut self, length: Option<u64>) -> io::Result<Self> {
        if let Self::Zstd(encoder) = &mut self {
            encoder.set_parameter(CParameter::WindowLog(window_bits(length, 10)))?;
            encoder.set_pledged_src_size(length)?;
        }
        Ok(self)
    }
}

/// Encodes all of `bytes`.
///
/// # Errors
/// Out of memory.
pub(super) fn encode_whole(target: Target, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    Encoder::new(target, Some(bytes.len() as u64))?.encode(bytes, Then::End, &mut out)?;
    Ok(out)
}

/// The smallest window of br or zstd, in bits, that content of this length fits into; at least `least`.
fn window_bits(length: Option<u64>, least: u32) -> u32 {
    let bits = |length: u64| u64::BITS - length.saturating_sub(1).leading_zeros();
    length.map_or(WINDOW_BITS, |length| bits(length).clamp(least, WINDOW_BITS))
}

/// The sizes of zstd's tables at high qualities, as zstd chooses them for content of this window and known length. For
/// unknown lengths, it would use tables for windows of up to 128 MiB, of 640 MB at quality 22.
fn tables(quality: u8) -> [Option<CParameter>; 2] {
    let chain = match quality {
        ..9 => return [None; 2],
        9..=12 => WINDOW_BITS,
        // Half of it is a tree.
        13.. => WINDOW_BITS + 1,
    };
    [Some(CParameter::HashLog(WINDOW_BITS + 1)), Some(CParameter::ChainLog(chain))]
}

fn gzip(encoder: &mut Compress, mut input: &[u8], then: Then, out: &mut Vec<u8>) -> io::Result<()> {
    let flush = match then {
        Then::More => FlushCompress::None,
        Then::Pause => FlushCompress::Sync,
        Then::End => FlushCompress::Finish,
    };
    loop {
        out.reserve(ROOM);
        let before = encoder.total_in();
        let status = encoder.compress_vec(input, out, flush).map_err(io::Error::other)?;
        // At most the input's length.
        input = &input[(encoder.total_in() - before) as usize..];
        let over = match then {
            Then::End => status == Status::StreamEnd,
            // If there is space left, all pending output has been written.
            Then::More | Then::Pause => input.is_empty() && out.len() < out.capacity(),
        };
        if over {
            return Ok(());
        }
    }
}

fn zstd(encoder: &mut ZstdEncoder<'static>, input: &[u8], then: Then, out: &mut Vec<u8>) -> io::Result<()> {
    let mut input = InBuffer::around(input);
    while input.pos < input.src.len() {
        encoder.run(&mut input, &mut space(out))?;
    }
    loop {
        let kept = match then {
            Then::More => 0,
            Then::Pause => encoder.flush(&mut space(out))?,
            Then::End => encoder.finish(&mut space(out), true)?,
        };
        if kept == 0 {
            return Ok(());
        }
    }
}

/// Space after the content of `out`.
fn space(out: &mut Vec<u8>) -> OutBuffer<'_, Vec<u8>> {
    out.reserve(ROOM);
    let end = out.len();
    OutBuffer::around_pos(out, end)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::io::Read;

    /// The content as a client decodes it. Panics if it is malformed or truncated.
    pub(in super::super) fn decoded(coding: Coding, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        match coding {
            Coding::Identity => out.extend_from_slice(bytes),
            Coding::Gzip => {
                let mut decoder = flate2::bufread::GzDecoder::new(bytes);
                decoder.read_to_end(&mut out).expect("gzip");
                assert!(decoder.into_inner().is_empty(), "nothing follows");
            }
            Coding::Brotli => _ = brotli::Decompressor::new(bytes, 4096).read_to_end(&mut out).expect("br"),
            Coding::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(bytes).expect("zstd");
                // RFC 9659: clients need not accept more than 8 MiB.
                decoder.window_log_max(23).expect("a limit");
                decoder.read_to_end(&mut out).expect("zstd");
            }
        }
        out
    }

    /// What a client can decode of the content so far.
    pub(in super::super) fn decoded_so_far(coding: Coding, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut piece = [0; 4096];
        let mut decoder: Box<dyn Read + '_> = match coding {
            Coding::Identity => Box::new(bytes),
            Coding::Gzip => Box::new(flate2::bufread::GzDecoder::new(bytes)),
            Coding::Brotli => Box::new(brotli::Decompressor::new(bytes, 1)),
            Coding::Zstd => Box::new(zstd::stream::read::Decoder::new(bytes).expect("zstd")),
        };
        // At the end of what has been received so far, reading fails.
        while let Ok(count @ 1..) = decoder.read(&mut piece) {
            out.extend_from_slice(&piece[..count]);
        }
        out
    }

    /// All qualities of a coding.
    fn all() -> impl Iterator<Item = Target> {
        let of = |coding, range: std::ops::RangeInclusive<u8>| {
            range.map(move |quality| Target { coding, quality })
        };
        of(Coding::Gzip, 1..=9).chain(of(Coding::Brotli, 0..=11)).chain(of(Coding::Zstd, 1..=22))
    }

    /// Text with some redundancy.
    pub(in super::super) fn text(len: usize) -> Vec<u8> {
        let words = ["window", "stream", "frame ", "header", "field\n", "byte ", "flush "];
        let mut state = 1_u32;
        let mut out = Vec::with_capacity(len + 8);
        while out.len() < len {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            out.extend_from_slice(words[(state >> 24) as usize % words.len()].as_bytes());
            out.push((state >> 16) as u8);
        }
        out.truncate(len);
        out
    }

    #[test]
    fn every_quality_of_every_coding_gives_back_what_went_in() {
        let long = text(200_000);
        for target in all() {
            for input in [&b""[..], b"a", &long[..1000], &long] {
                let packed = encode_whole(target, input).expect("encoded");
                assert!(decoded(target.coding, &packed) == input, "{target:?} {}", input.len());
                assert!(
                    input.len() < 1000 || packed.len() < input.len() * 9 / 10,
                    "{target:?} {}",
                    packed.len()
                );
            }
        }
    }

    #[test]
    fn after_a_pause_everything_so_far_can_be_read() {
        let text = text(300_000);
        for target in all().filter(|target| !target.is_slow()) {
            let mut encoder = Encoder::new(target, None).expect("an encoder");
            let (mut packed, mut at) = (Vec::new(), 0);
            for len in [1, 10, 1000, 0, 65_536, 100_000] {
                encoder.encode(&text[at..at + len], Then::Pause, &mut packed).expect("encoded");
                at += len;
                assert!(decoded_so_far(target.coding, &packed) == text[..at], "{target:?} {at}");
            }
            encoder.encode(&text[at..], Then::End, &mut packed).expect("encoded");
            assert!(decoded(target.coding, &packed) == text, "{target:?}");
        }
    }

    #[test]
    fn windows_are_no_larger_than_content_needs() {
        for (length, want) in [
            (None, 19),
            (Some(0), 10),
            (Some(1), 10),
            (Some(1024), 10),
            (Some(1025), 11),
            (Some(1 << 18), 18),
            (Some((1 << 18) + 1), 19),
            (Some(u64::MAX), 19),
        ] {
            assert_eq!(window_bits(length, 10), want, "{length:?}");
        }
    }

    #[test]
    fn an_encoder_that_is_used_again_knows_nothing_of_other_content() {
        let (first, second) = (text(100_000), text(90_000).split_off(30_000));
        for target in all().filter(|target| !target.is_slow()) {
            for (length, then) in
                [(None, Then::More), (Some(100_000), Then::Pause), (Some(50_000), Then::End)]
            {
                let fresh = decoded(target.coding, &encode_whole(target, &second).expect("encoded"));
                let mut packed = Vec::new();
                let mut left = Encoder::new(target, length).expect("an encoder");
                left.encode(&first[..50_000], then, &mut packed).expect("encoded");
                drop(left);
                let again = encode_whole(target, &second).expect("encoded");
                assert!(decoded(target.coding, &again) == fresh && fresh == second, "{target:?} {length:?}");
                let mut third = Encoder::new(target, None).expect("an encoder");
                packed.clear();
                third.encode(&second[..100], Then::Pause, &mut packed).expect("encoded");
                assert!(decoded_so_far(target.coding, &packed) == second[..100], "{target:?} {length:?}");
            }
        }
    }

    #[test]
    fn zstd_refuses_content_that_is_not_as_long_as_announced() {
        let target = Target { coding: Coding::Zstd, quality: 3 };
        let encode =
            |len| Encoder::new(target, Some(100))?.encode(&vec![b'x'; len], Then::End, &mut Vec::new());
        assert!(encode(100).is_ok());
        assert!(encode(99).is_err() && encode(101).is_err());
    }
}
