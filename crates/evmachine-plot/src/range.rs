//! The stretch of an axis: wide enough for its data and never degenerate.

use kuva::render::render_utils::compute_tick_step;

/// An interval of positive width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The number of ticks aimed at; the real number is what round steps give.
pub(crate) const TICKS: usize = 6;

impl Range {
    /// The smallest interval holding all values, opened up around a single value. Without values, 0 to 1.
    pub(crate) fn covering(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = values
            .into_iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return Self { low: 0.0, high: 1.0 };
        }
        // An axis narrower than this cannot tell its own ticks apart in double precision.
        let narrowest = low.abs().max(high.abs()) * 1e-9;
        if high - low > narrowest.max(1e-12) {
            return Self { low, high };
        }
        let half = if low == 0.0 { 0.5 } else { (low.abs() * 0.05).max(1e-9) };
        Self { low: low - half, high: high + half }
    }

    /// Widened on both sides by a share of its width.
    pub(crate) fn padded(self, share: f64) -> Self {
        let margin = (self.high - self.low) * share;
        Self { low: self.low - margin, high: self.high + margin }
    }

    /// Widened by a factor on both sides as a logarithmic axis shows it; `low` must be positive.
    pub(crate) fn padded_logarithmically(self, share: f64) -> Self {
        let factor = (self.high / self.low).powf(share);
        Self { low: self.low / factor, high: self.high * factor }
    }

    /// The distance of its ticks.
    pub(crate) fn step(self) -> f64 {
        let step = compute_tick_step(self.low, self.high, TICKS);
        if step.is_finite() && step > 0.0 { step } else { self.high - self.low }
    }

    /// As many decimals as keep two neighbouring ticks apart; `None` where plain digits would be unreadable.
    pub(crate) fn decimals(self) -> Option<usize> {
        let magnitude = self.low.abs().max(self.high.abs());
        let exponent = self.step().log10();
        if magnitude >= 1e6 || exponent < -5.0 {
            return None;
        }
        let mut decimals = (-exponent.floor()).max(0.0) as usize;
        // A step of 0.25 needs one decimal more than its magnitude says.
        let scaled = self.step() * 10f64.powf(decimals as f64);
        if (scaled - scaled.round()).abs() > 1e-6 {
            decimals += 1;
        }
        Some(decimals)
    }
}

/// A tick of a logarithmic axis, without exponents where plain digits are short enough.
pub(crate) fn logarithmic_tick(value: f64) -> String {
    if (1e-3..1e6).contains(&value.abs()) {
        let digits = (2 - value.abs().log10().floor() as i32).max(0) as usize;
        let text = format!("{value:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        format!("{value:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_value_gets_room() {
        for value in [0.0, 3.0, -2e9, 1e-30, 5e99] {
            let range = Range::covering([value, value]);
            assert!(range.low < value && value < range.high, "{value}");
            assert!(range.step() > 0.0);
        }
        assert_eq!(Range::covering([]), Range { low: 0.0, high: 1.0 });
    }

    #[test]
    fn padding_keeps_the_data_inside() {
        let range = Range { low: -7.0, high: 13.0 }.padded(0.05);
        assert_eq!(range, Range { low: -8.0, high: 14.0 });
        let range = Range { low: 0.01, high: 1.0 }.padded_logarithmically(0.5);
        assert!((range.low - 0.001).abs() < 1e-9 && (range.high - 10.0).abs() < 1e-9);
    }

    #[test]
    fn neighbouring_ticks_read_differently() {
        assert_eq!(Range { low: 0.0, high: 1.0 }.decimals(), Some(1));
        assert_eq!(Range { low: 0.9991, high: 0.9999 }.decimals(), Some(4));
        assert_eq!(Range { low: 0.0, high: 500.0 }.decimals(), Some(0));
        assert_eq!(Range { low: 0.0, high: 1e9 }.decimals(), None);
    }

    #[test]
    fn logarithmic_ticks_are_short() {
        let ticks: Vec<_> = [0.001, 0.02, 0.5, 1.0, 20.0, 5000.0, 1e-5].map(logarithmic_tick).to_vec();
        assert_eq!(ticks, ["0.001", "0.02", "0.5", "1", "20", "5000", "1e-5"]);
    }
}
