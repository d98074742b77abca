"""Thresholds, the detector, isolation of the link, estimate of force and contact point."""

from armsense.detector.contact import ContactEstimate, ContactOptions, estimate_contact
from armsense.detector.detector import Detection, Detector, DetectorOptions
from armsense.detector.extreme_value import cluster_maxima
from armsense.detector.false_alarm_rate import alarm_statistic, fit_false_alarm_threshold
from armsense.detector.intent import read_intent
from armsense.detector.isolation import isolate, Isolation, touchable
from armsense.detector.lasting import lasting_text
from armsense.detector.thresholds import fixed_thresholds, motion_thresholds, sigma_thresholds
from armsense.geometry.link_shapes import LinkCapsule
from armsense.model.thresholds import Thresholds

__all__ = [
    'LinkCapsule', 'ContactEstimate', 'ContactOptions', 'Detection', 'Detector', 'DetectorOptions',
    'Isolation', 'Thresholds', 'alarm_statistic', 'cluster_maxima', 'estimate_contact',
    'fit_false_alarm_threshold', 'fixed_thresholds', 'isolate', 'lasting_text',
    'motion_thresholds', 'read_intent', 'sigma_thresholds', 'touchable',
]
