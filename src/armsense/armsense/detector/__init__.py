"""Thresholds, the detector, isolation of the link, estimate of force and contact point."""

from armsense.detector.contact import ContactEstimate, ContactOptions
from armsense.detector.detector import Detection, Detector, DetectorOptions, lasting_text
from armsense.detector.extreme_value import alarm_statistic, cluster_maxima
from armsense.detector.onset import Onset, ONSETS, OnsetTest
from armsense.detector.thresholds import (
    fit_false_alarm_threshold,
    fit_watched,
    fixed_thresholds,
)
from armsense.model.model_file import Thresholds

__all__ = ['ONSETS', 'ContactEstimate', 'ContactOptions', 'Detection', 'Detector',
           'DetectorOptions', 'Onset', 'OnsetTest', 'Thresholds', 'alarm_statistic',
           'cluster_maxima', 'fit_false_alarm_threshold', 'fit_watched', 'fixed_thresholds',
           'lasting_text']
