from __future__ import annotations

from armsense.boards.transport.link import LinkCounters, Outcome


def test_counts_every_outcome():
    counters = LinkCounters()
    for outcome, times in ((Outcome.OK, 6), (Outcome.CRC, 1), (Outcome.DROP, 2),
                           (Outcome.MALFORMED, 1), (Outcome.STALE, 2)):
        for _ in range(times):
            counters.observe(outcome, 20e-6)
    counters.retries = counters.rejected_commands = 1
    summary = counters.summary()
    assert tuple(summary.values())[:8] == (12, 6, 1, 2, 1, 2, 1, 1)
    assert summary['loss_percent'] == 100 * 4 / 12


def test_latency_bins_are_powers_of_two():
    counters = LinkCounters()
    for microseconds in (0.5, 1.5, 3, 5, 100, 1e9):
        counters.observe(Outcome.OK, microseconds * 1e-6)
    occupied = [number for number, count in enumerate(counters.latency_bins) if count]
    assert occupied == [0, 1, 2, 3, 7, 19]
    assert counters.summary()['latency_max_us'] == 1e9


def test_quantiles_are_upper_edges():
    counters = LinkCounters()
    for _ in range(98):
        counters.observe(Outcome.OK, 20e-6)
    for _ in range(2):
        counters.observe(Outcome.OK, 900e-6)
    summary = counters.summary()
    assert summary['latency_p50_us'] == 32
    assert summary['latency_p99_us'] == 1024
    assert summary['latency_histogram'] == '32 us: 98, 1024 us: 2'


def test_drops_have_no_latency_and_empty_counters_no_quantile():
    counters = LinkCounters()
    counters.observe(Outcome.DROP, 5e-3)
    assert sum(counters.latency_bins) == 0
    assert counters.summary()['latency_p50_us'] == 0
