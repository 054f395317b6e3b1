//! The flags that say whether everything is measured.

use clap::{Args, ValueEnum};
use evmachine::{Evm, Search};
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::hint::Hint;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchName {
    /// All pairs.
    Exact,
    /// Those near each other, as many as --recall takes.
    Approximate,
}

#[derive(Debug, Clone, Copy, Args, Default, PartialEq)]
pub(crate) struct SearchArguments {
    /// Whether all pairs are measured, or from 65,536 rows and 32,768 extreme vectors on those near each other alone
    /// [paper, robust: exact; a model that is there keeps to its own].
    #[arg(long, value_enum)]
    pub(crate) search: Option<SearchName>,

    #[arg(
        long,
        value_name = "SHARE",
        help = format!(
            "What an approximate search finds at least, of tails and of decisions, measured on a sample; training is refused where that \
             takes too many pairs [default: {}]",
            Search::RECALL
        )
    )]
    pub(crate) recall: Option<f64>,
}

impl SearchArguments {
    /// What is to be done where `before` was until now.
    pub(crate) fn over(&self, before: Search) -> Result<Search, Failure> {
        let kept = before.recall();
        match (self.search, self.recall) {
            (None, None) => Ok(before),
            (Some(SearchName::Exact), None) => Ok(Search::Exact),
            (Some(SearchName::Approximate), recall) => {
                Ok(Search::Approximate(recall.or(kept).unwrap_or(Search::RECALL)))
            }
            (None, Some(recall)) if kept.is_some() => Ok(Search::Approximate(recall)),
            (_, Some(_)) => Err(Failure::new(
                Kind::Usage,
                "--recall is that of an approximate search, and this one is exact",
            )
            .hint(Hint::flags(&["search"], "add --search approximate"))),
        }
    }

    /// Has the model search so.
    pub(crate) fn apply(&self, evm: &mut Evm) -> Result<(), Failure> {
        let search = self.over(evm.params().search)?;
        if search != evm.params().search {
            evm.set_search(search)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_given_stays() {
        let asked = |search, recall, before| SearchArguments { search, recall }.over(before).ok();
        let (exact, some) = (Search::Exact, Search::Approximate(0.9));
        assert_eq!(asked(None, None, some), Some(some));
        assert_eq!(asked(Some(SearchName::Exact), None, some), Some(exact));
        assert_eq!(asked(Some(SearchName::Approximate), None, exact), Some(Search::Approximate(0.99)));
        assert_eq!(asked(Some(SearchName::Approximate), None, some), Some(some));
        assert_eq!(asked(None, Some(0.5), some), Some(Search::Approximate(0.5)));
        assert_eq!(asked(None, Some(0.5), exact), None);
        assert_eq!(asked(Some(SearchName::Exact), Some(0.5), some), None);
    }
}
