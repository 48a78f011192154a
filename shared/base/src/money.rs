//! Money, exactly: whole billionths of a US dollar.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Billionths in a dollar.
const DOLLAR: u64 = 1_000_000_000;

/// An amount in billionths of a US dollar. In JSON it is a number of dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money(pub u64);

impl Money {
    /// Reads `$5`, `5 USD`, `USD 0.75`, `5.50`: one amount in US dollars, with at most nine digits behind the point.
    /// `None` for anything else: a guess about money helps nobody.
    pub fn parse(text: &str) -> Option<Money> {
        let lower = text.trim().to_lowercase();
        let words = ["us$", "usd", "dollars", "dollar", "$"];
        let front = words.iter().find_map(|w| lower.strip_prefix(w)).unwrap_or(&lower).trim();
        let bare = words.iter().find_map(|w| front.strip_suffix(w)).unwrap_or(front).trim();
        let (whole, part) = bare.split_once('.').unwrap_or((bare, ""));
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 9 {
            return None;
        }
        let part: u64 = format!("{part:0<9}").parse().ok()?;
        whole.parse::<u64>().ok()?.checked_mul(DOLLAR)?.checked_add(part).map(Money)
    }

    /// `$0.75`, with every digit it has: reading it gives the same amount.
    pub fn exact(self) -> String {
        let part = format!("{:09}", self.0 % DOLLAR);
        let digits = part.trim_end_matches('0');
        format!("${}.{digits:0<2}", self.0 / DOLLAR)
    }

    /// The sum; the largest amount there is where it would be more.
    #[must_use]
    pub fn plus(self, more: Money) -> Money {
        Money(self.0.saturating_add(more.0))
    }
}

/// `$0.06` from a cent on; smaller amounts with as many digits as they need, at most six.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cent = DOLLAR / 100;
        if self.0 >= cent || self.0 == 0 {
            let cents = self.0.saturating_add(cent / 2) / cent;
            return write!(f, "${}.{:02}", cents / 100, cents % 100);
        }
        let millionths = (self.0 + 500) / 1_000;
        if millionths == 0 {
            return f.write_str("under $0.000001");
        }
        let text = format!("{millionths:06}");
        write!(f, "$0.{}", text.trim_end_matches('0'))
    }
}

impl Serialize for Money {
    #[expect(clippy::cast_precision_loss, reason = "exact up to a million dollars")]
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(self.0 as f64 / DOLLAR as f64)
    }
}

impl<'de> Deserialize<'de> for Money {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "only amounts get this far"
    )]
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Money, D::Error> {
        let dollars = f64::deserialize(d)?;
        let fits = dollars.is_finite() && (0.0..1e9).contains(&dollars);
        let wrong = || serde::de::Error::custom("not an amount in dollars");
        fits.then(|| Money((dollars * DOLLAR as f64).round() as u64)).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_dollars_and_guesses_nothing() {
        for (text, want) in [
            ("$5", Some(5_000_000_000)),
            ("5 USD", Some(5_000_000_000)),
            ("USD 0.75", Some(750_000_000)),
            ("US$1.5", Some(1_500_000_000)),
            ("2 dollars", Some(2_000_000_000)),
            ("0.000000001", Some(1)),
            ("0", Some(0)),
            ("", None),
            ("$", None),
            ("-1", None),
            ("5 EUR", None),
            ("5,50", None),
            ("about 5", None),
            ("1.2.3", None),
            ("99999999999999999999", None),
            ("18446744073.9", None),
            ("\u{663}", None),
        ] {
            assert_eq!(Money::parse(text).map(|m| m.0), want, "{text:?}");
        }
    }

    #[test]
    fn writes_cents_and_less() {
        for (nano, want) in [
            (0, "$0.00"),
            (102_975_000, "$0.10"),
            (1_999_000_000, "$2.00"),
            (10_875_000, "$0.01"),
            (1_500_000, "$0.0015"),
            (1, "under $0.000001"),
        ] {
            assert_eq!(Money(nano).to_string(), want, "{nano}");
        }
    }

    #[test]
    fn exact_is_read_back() {
        for (nano, want) in
            [(5_000_000_000, "$5.00"), (750_000_000, "$0.75"), (1, "$0.000000001"), (0, "$0.00")]
        {
            assert_eq!(Money(nano).exact(), want);
            assert_eq!(Money::parse(want), Some(Money(nano)));
        }
    }

    #[test]
    fn goes_through_json_unchanged() {
        for nano in [0, 1, 102_975_000, 999_999_999_999_999] {
            let json = serde_json::to_string(&Money(nano)).unwrap();
            assert_eq!(serde_json::from_str::<Money>(&json).unwrap(), Money(nano), "{json}");
        }
        assert!(serde_json::from_str::<Money>("-1").is_err());
    }
}
