"""Shared by the control tests: an integrator that is not the controller's, and a small loop."""

import numpy as np

from armsense.control import ArmState, board_torque


def rk4(f, x, dt):
    """One Runge-Kutta step of dx/dt = f(x)."""
    k1 = f(x)
    k2 = f(x + dt / 2 * k1)
    k3 = f(x + dt / 2 * k2)
    k4 = f(x + dt * k3)
    return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


class RigidArm:
    """A frictionless arm under the board law, integrated with forward dynamics (ABA)."""

    def __init__(self, model, q, dq=None):
        self.model, self.n = model, model.n
        self.x = np.concatenate([q, np.zeros(model.n) if dq is None else dq])

    @property
    def state(self):
        return ArmState.rigid(self.x[:self.n].copy(), self.x[self.n:].copy())

    def step(self, command, dt, external=0.0):
        def f(x):
            q, dq = x[:self.n], x[self.n:]
            tau = board_torque(command, ArmState.rigid(q, dq)) + external
            return np.concatenate([dq, self.model.forward_dynamics(q, dq, tau)])
        self.x = rk4(f, self.x, dt)


class ElasticArm:
    """Eqs. 3.23-3.24 of thesis 000 without motor friction, under the board law.

    The cable that passes a joint also pulls at it: joint torque = P^T spring torque.
    """

    def __init__(self, model, q, damping=True):
        joints = list(model.config.joints.values())
        names = model.joint_names
        self.model, self.n = model, model.n
        self.K = np.array([j.elastic.stiffness for j in joints])
        self.D = np.array([j.elastic.damping for j in joints]) * damping
        self.F = np.array([j.elastic.link_damping for j in joints])
        self.I = np.array([j.rotor_inertia * j.gear_ratio**2 for j in joints])
        self.P = np.eye(self.n)
        for k, j in enumerate(joints):
            if j.elastic.coupled_to:
                self.P[k, names.index(j.elastic.coupled_to)] += j.elastic.coupling_ratio
        tau = np.linalg.solve(self.P.T, model.gravity_torque(np.asarray(q, float)))
        self.x = np.concatenate([q, np.zeros(self.n), self.P @ q + tau / self.K,
                                 np.zeros(self.n)])

    @property
    def state(self):
        q, dq, th, dth = self.x.reshape(4, self.n).copy()
        return ArmState(q, dq, th, dth, np.zeros(self.n))

    def step(self, command, dt):
        def f(x):
            q, dq, th, dth = x.reshape(4, self.n)
            spring = self.K * (th - self.P @ q) + self.D * (dth - self.P @ dq)
            tau = board_torque(command, ArmState(q, dq, th, dth, spring))
            ddq = self.model.forward_dynamics(q, dq, self.P.T @ spring - self.F * dq)
            return np.concatenate([dq, ddq, dth, (tau - spring) / self.I])
        for _ in range(2):
            self.x = rk4(f, self.x, dt / 2)
