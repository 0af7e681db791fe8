// The state of a key as people read it: in tables, metrics, status and `keys explain`. It comes from the same judgement as
// authentication, so a key that is shown as active opens the API from an allowed network.
import { type DeadBecause, deadBecauseOfOthers, deadByItself, type KeyWorld, type Recorded } from './credential.ts';
import type { KeyFacts } from './key-facts.ts';

export const keyStates = [
  'active',
  'disabled',
  'expired',
  'terminating',
  'suspended',
  'userDisabled',
  'instanceGone',
  'makerInvalid',
] as const;
export type KeyState = (typeof keyStates)[number];

const stateOfDead: Readonly<Record<DeadBecause, KeyState>> = {
  deleted: 'terminating',
  disabled: 'disabled',
  expired: 'expired',
  'subject gone': 'suspended',
  'subject disabled': 'userDisabled',
  'instance gone': 'instanceGone',
  maker: 'makerInvalid',
  // The network belongs to a request, never to a key alone.
  network: 'active',
};

export function keyState(facts: KeyFacts, world: KeyWorld, nowMs: number): KeyState {
  return ownState(facts, world, nowMs) ?? stateByOthers(facts, world, nowMs);
}

/** State of a key that is alive by itself: its owner, its virtual cluster and the keys that made it still count. */
export function stateByOthers(facts: Recorded, world: KeyWorld, nowMs: number): KeyState {
  const because = deadBecauseOfOthers(facts, world, nowMs);
  return because === undefined ? 'active' : stateOfDead[because];
}

function ownState(facts: KeyFacts, world: KeyWorld, nowMs: number): KeyState | undefined {
  const because = deadByItself(facts, world, nowMs);
  return because === undefined ? undefined : stateOfDead[because];
}

/** The state as columns show it, like `UserDisabled`. */
export function titleOf(state: KeyState): string {
  return state.charAt(0).toUpperCase() + state.slice(1);
}
