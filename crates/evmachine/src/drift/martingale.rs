//! A test martingale over p-values: what somebody has won who began with 1 and bet that they are not uniform.
//!
//! Uniform p-values make every bet fair, so that the fortune ever reaches 1 / a with chance a at most (Ville, 1939), whenever one looks.
//! Nobody knows when a change comes, so the fortune is spread over all moments: the part `w(n)` begins to bet at the n-th p-value, with
//! `w(n) = 1 / (1 + ln n) - 1 / (1 + ln(n + 1))`, which add up to 1. A change after n quiet rows costs about `ln n` of evidence that way
//! instead of all that was lost by betting on quiet rows.

use serde::{Deserialize, Serialize};

/// A fortune grows no further, so that it stays a number.
const MOST: f64 = 1e100;

/// A density on (0, 1) to bet with: what a fortune is multiplied with at a p-value. It is 1 on average over uniform p-values.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bet {
    /// The part `stake` of the fortune on p-values up to `below`.
    Low { below: f64, stake: f64 },
    /// The same on p-values from `1 - below` on.
    High { below: f64, stake: f64 },
    /// The same on both ends together.
    Ends { below: f64, stake: f64 },
    /// `1 + slope (1 - 2p)`.
    Slope(f64),
}

impl Bet {
    fn at(self, p: f64) -> f64 {
        let stepped =
            |p: f64, below: f64, stake: f64| 1.0 - stake + if p <= below { stake / below } else { 0.0 };
        match self {
            Bet::Low { below, stake } => stepped(p, below, stake),
            Bet::High { below, stake } => stepped(1.0 - p, below, stake),
            Bet::Ends { below, stake } => stepped(2.0 * p.min(1.0 - p), below, stake),
            Bet::Slope(slope) => 1.0 + slope * (1.0 - 2.0 * p),
        }
    }
}

/// On scores that fall: few rows by much, many by little.
pub(crate) const FALLS: &[Bet] = &[
    Bet::Low { below: 0.01, stake: 0.05 },
    Bet::Low { below: 0.02, stake: 0.2 },
    Bet::Low { below: 0.05, stake: 0.5 },
    Bet::Low { below: 0.2, stake: 0.5 },
    Bet::Slope(0.5),
    Bet::Slope(0.95),
];

/// On values that move to either side, or apart.
pub(crate) const MOVES: &[Bet] = &[
    Bet::Low { below: 0.02, stake: 0.2 },
    Bet::Low { below: 0.1, stake: 0.5 },
    Bet::High { below: 0.02, stake: 0.2 },
    Bet::High { below: 0.1, stake: 0.5 },
    Bet::Ends { below: 0.05, stake: 0.3 },
    Bet::Slope(0.5),
    Bet::Slope(0.95),
    Bet::Slope(-0.5),
    Bet::Slope(-0.95),
];

/// The fortune of one bet, and when the bets that won most began.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Fortune {
    /// Of all parts that have begun.
    won: f64,
    /// What somebody has won who began at the best moment, as a logarithm.
    best: f64,
    /// The row of the stream at which that was.
    since: u64,
}

/// The mean fortune of several bets.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Martingale {
    fortunes: Vec<Fortune>,
    /// P-values so far.
    rows: u64,
    /// The largest that the fortune ever was.
    highest: f64,
}

impl Martingale {
    pub(crate) fn new(bets: &[Bet]) -> Self {
        Self { fortunes: vec![Fortune::default(); bets.len()], rows: 0, highest: 1.0 }
    }

    /// Takes the p-value of a row of the stream, and returns the fortune.
    pub(crate) fn take(&mut self, bets: &[Bet], p_value: f64, row: u64) -> f64 {
        self.rows = self.rows.saturating_add(1);
        let unspent = |rows: u64| 1.0 / (1.0 + (rows as f64).ln());
        let begins = unspent(self.rows) - unspent(self.rows.saturating_add(1));
        let mut sum = 0.0;
        for (fortune, bet) in self.fortunes.iter_mut().zip(bets) {
            let factor = bet.at(p_value);
            fortune.won = ((fortune.won + begins) * factor).min(MOST);
            if fortune.best <= 0.0 {
                (fortune.best, fortune.since) = (0.0, row);
            }
            fortune.best += factor.ln();
            sum += fortune.won;
        }
        let now = sum / bets.len() as f64 + unspent(self.rows.saturating_add(1));
        self.highest = self.highest.max(now);
        now
    }

    /// The largest fortune so far.
    pub(crate) fn highest(&self) -> f64 {
        self.highest
    }

    /// The row of the stream from which on p-values were least uniform.
    pub(crate) fn since(&self) -> u64 {
        let best = self.fortunes.iter().max_by(|a, b| a.best.total_cmp(&b.best));
        best.map_or(0, |fortune| fortune.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evmachine_engine::math::spread;

    fn drawn(number: u64) -> f64 {
        ((spread(number) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    #[test]
    fn every_bet_is_fair() {
        for bet in FALLS.iter().chain(MOVES) {
            let steps = 1_000_000;
            let mean = (0..steps).map(|i| bet.at((f64::from(i) + 0.5) / f64::from(steps))).sum::<f64>()
                / f64::from(steps);
            assert!((mean - 1.0).abs() < 1e-6, "{bet:?}: {mean}");
        }
    }

    #[test]
    fn uniform_p_values_reach_twenty_in_one_stream_of_twenty_at_most() {
        let streams = 400u64;
        let reached = (0..streams).filter(|stream| {
            let mut martingale = Martingale::new(MOVES);
            (0..2_000).for_each(|row| {
                martingale.take(MOVES, drawn(stream * 1_000_000 + row), row);
            });
            martingale.highest() >= 20.0
        });
        // 20 of 400 are allowed on average; 34 are three deviations more.
        assert!(reached.count() <= 34);
    }

    #[test]
    fn a_change_is_found_and_dated() {
        let mut martingale = Martingale::new(FALLS);
        let mut found = None;
        for row in 0..6_000u64 {
            let p_value = if row < 5_000 { drawn(row) } else { drawn(row) * 0.1 };
            if martingale.take(FALLS, p_value, row) >= 1e4 && found.is_none() {
                found = Some((row, martingale.since()));
            }
        }
        let (row, since) = found.expect("found");
        assert!((5_000..5_050).contains(&row), "{row}");
        assert!((4_950..=row).contains(&since), "{since}");
    }
}
