"""Thresholds, the detector, isolation of the link, estimate of force and contact point."""

from armsense_core.detector.contact import (
    Capsule,
    ContactEstimate,
    ContactOptions,
    estimate_contact,
)
from armsense_core.detector.detector import Detection, Detector, DetectorOptions
from armsense_core.detector.extreme_value import cluster_maxima
from armsense_core.detector.false_alarm_rate import alarm_statistic, fit_false_alarm_threshold
from armsense_core.detector.intent import read_intent
from armsense_core.detector.isolation import isolate, Isolation, touchable
from armsense_core.detector.lasting import lasting_text
from armsense_core.detector.thresholds import (
    fixed_thresholds,
    motion_thresholds,
    sigma_thresholds,
    Thresholds,
)

__all__ = [
    'Capsule', 'ContactEstimate', 'ContactOptions', 'Detection', 'Detector', 'DetectorOptions',
    'Isolation', 'Thresholds', 'alarm_statistic', 'cluster_maxima', 'estimate_contact',
    'fit_false_alarm_threshold', 'fixed_thresholds', 'isolate', 'lasting_text',
    'motion_thresholds', 'read_intent', 'sigma_thresholds', 'touchable',
]
