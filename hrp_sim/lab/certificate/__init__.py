"""The dynamic certificate: a model moves alike in the engine and in libraries with its URDF."""

from .certificate import LIBRARIES, Certificate, certify

__all__ = ["LIBRARIES", "Certificate", "certify"]
