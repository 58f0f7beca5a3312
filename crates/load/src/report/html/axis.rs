//! Axes: from a value to its position, with ticks at round values.

use super::super::figure;

/// One axis of a plot.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    /// Values with their labels.
    pub(super) ticks: Vec<(f64, String)>,
    /// The label of the axis, with its unit.
    pub(super) title: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    Linear,
    Log,
    /// Quantiles: each step is a tenth of the rest, so that the tail has room.
    Nines,
}

impl Axis {
    /// From 0 to a round value not below `most`. The labels get `suffix`.
    pub(super) fn linear(title: &'static str, most: f64, suffix: &str) -> Self {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        let step = round_step(most / 5.0);
        let steps = (most / step - 1e-9).ceil() as usize;
        let ticks = (0..=steps).map(|index| {
            let value = index as f64 * step;
            (value, format!("{}{suffix}", number(value, step)))
        });
        Self { scale: Scale::Linear, low: 0.0, high: steps as f64 * step, ticks: ticks.collect(), title }
    }

    /// From 0 to `most` itself, with ticks at round values below: for time, where nothing comes after the end.
    pub(super) fn until(title: &'static str, most: f64, suffix: &str) -> Self {
        let mut axis = Self::linear(title, most, suffix);
        if most.is_finite() && most > 0.0 {
            axis.ticks.retain(|(value, _)| *value <= most * (1.0 + 1e-9));
            axis.high = most;
        }
        axis
    }

    /// Durations in nanoseconds between 1, 2 or 5 times a power of ten, as close as they hold both ends.
    pub(super) fn time(title: &'static str, least: f64, most: f64) -> Self {
        let least = if least.is_finite() && least >= 1.0 { least } else { 1.0 };
        let most = if most.is_finite() { most.max(least) } else { least };
        let mut low = mantissa(least, &[1.0, 2.0, 5.0], false);
        let mut high = mantissa(most, &[1.0, 2.0, 5.0], true);
        if high <= low {
            (low, high) = (low / 2.0, high * 2.0);
        }
        let decades = (high / low).log10();
        let steps: &[f64] = match decades {
            d if d < 1.2 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
            d if d < 4.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let first = low.log10().floor() as i32 - 1;
        let powers = (first..=first + decades.ceil() as i32 + 2).map(|power| 10_f64.powi(power));
        let values = powers.flat_map(|power| steps.iter().map(move |step| step * power));
        let within = values.filter(|value| (low * 0.999..=high * 1.001).contains(value));
        let ticks = within.map(|value| (value, time(value))).collect();
        Self { scale: Scale::Log, low, high, ticks, title }
    }

    /// Quantiles from 0 up to this number of nines.
    pub(super) fn nines(title: &'static str, nines: usize) -> Self {
        const TICKS: [(f64, &str); 8] = [
            (0.0, "0 %"),
            (0.5, "50 %"),
            (0.9, "90 %"),
            (0.99, "99 %"),
            (0.999, "99.9 %"),
            (0.9999, "99.99 %"),
            (0.99999, "99.999 %"),
            (0.999_999, "99.9999 %"),
        ];
        let nines = nines.clamp(1, 6);
        let ticks = TICKS[..nines + 2].iter().map(|&(value, label)| (value, label.to_owned())).collect();
        Self { scale: Scale::Nines, low: 0.0, high: nines as f64, ticks, title }
    }

    /// The position of a value: 0 at the low end of the axis, 1 at the high end, never outside.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
            Scale::Nines => -(1.0 - value).log10() / self.high,
        };
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    /// The ends of the axis.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }
}

/// The largest value of the form `step` times a power of ten that is not above `value`, or with `up` the smallest
/// that is not below.
fn mantissa(value: f64, steps: &[f64], up: bool) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let places = steps.iter().map(|step| step * power);
    match up {
        false => places.rev().find(|place| *place <= value * 1.000_001).unwrap_or(power),
        true => places.into_iter().find(|place| *place >= value * 0.999_999).unwrap_or(power * 10.0),
    }
}

fn round_step(least: f64) -> f64 {
    mantissa(least, &[1.0, 2.0, 5.0], true)
}

/// As many decimals as the step has; thousands as `k`.
fn number(value: f64, step: f64) -> String {
    match step {
        1e3.. => figure::short(value).replace(".00", "").replace(".0", ""),
        _ => {
            let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
            format!("{value:.decimals$}")
        }
    }
}

/// A round duration without zeros after the point.
fn time(nanos: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| nanos >= scale * 0.999).unwrap_or((1.0, "ns"));
    let value = (nanos / scale * 100.0).round() / 100.0;
    format!("{value} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round() {
        let cases = [
            (Axis::linear("", 9.3, " %"), vec!["0 %", "2 %", "4 %", "6 %", "8 %", "10 %"]),
            (Axis::linear("", 0.9, ""), vec!["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (Axis::linear("", 61_000.0, ""), vec!["0", "20 k", "40 k", "60 k", "80 k"]),
            (Axis::linear("", f64::NAN, ""), vec!["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (Axis::linear("", 0.0, ""), vec!["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (Axis::until("", 9.0, " s"), vec!["0 s", "2 s", "4 s", "6 s", "8 s"]),
            (Axis::time("", 6e5, 9e6), vec!["500 µs", "1 ms", "2 ms", "5 ms", "10 ms"]),
            (Axis::time("", 8e5, 8e5), vec!["500 µs", "700 µs", "1 ms"]),
            (Axis::time("", 1e6, 1e6), vec!["500 µs", "700 µs", "1 ms", "1.5 ms", "2 ms"]),
            (Axis::time("", f64::NAN, f64::INFINITY), vec!["0.5 ns", "0.7 ns", "1 ns", "1.5 ns", "2 ns"]),
            (Axis::time("", 1e3, 1e8), vec!["1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms"]),
            (Axis::nines("", 3), vec!["0 %", "50 %", "90 %", "99 %", "99.9 %"]),
        ];
        for (axis, expected) in cases {
            assert_eq!(labels(&axis), expected);
        }
    }

    #[test]
    fn places_are_on_the_axis_whatever_the_value() {
        let axes = [Axis::linear("", 10.0, ""), Axis::time("", 1e3, 1e6), Axis::nines("", 4)];
        for axis in axes {
            for value in [f64::NAN, f64::INFINITY, -1.0, 0.0, 0.5, 1.0, 1e9] {
                assert!((0.0..=1.0).contains(&axis.place(value)), "{axis:?} {value}");
            }
            assert!(axis.ticks.windows(2).all(|pair| axis.place(pair[0].0) < axis.place(pair[1].0)));
        }
        assert!((Axis::time("", 1e3, 1e5).place(1e4) - 0.5).abs() < 1e-9);
        assert!((Axis::nines("", 4).place(0.99) - 0.5).abs() < 1e-9);
    }
}
