// Shows an answer to the windows. The later watch event then causes no change in them, so the other keys that depend on the object are
// woken here.

import type { Answer } from '../../../cluster/answer.ts';
import { type Key, keyOf } from '../../../object/meta/object.ts';
import { isSamePlace } from '../../plan/ownership.ts';
import { type Facts, isHostWrite, type PlannedRequest } from '../../plan/step.ts';
import type { World } from '../../world/world.ts';
import { showAnswer } from './send.ts';

export function tellWindows(
  request: PlannedRequest,
  answer: Answer,
  { facts, world, wake }: { facts: Facts; world: World; wake: (key: Key) => void },
): void {
  if (request.verb === 'get' && request.side === 'host' && request.what === 'service') return;
  const place = request.verb === 'create' ? facts.place : request.place;
  if (place === undefined) return;
  if (request.side === 'virtual') {
    const wasThere = world.windows.virtual.has(facts.key);
    showAnswer(world.windows.virtual, { request, answer, place, seen: facts.virtual?.resourceVersion });
    if (world.windows.virtual.has(facts.key) === wasThere) return;
    for (const rival of world.noteVirtual(facts.key)) wake(rival);
    return;
  }
  const seen = [facts.host, ...facts.strays].find((item) => item !== undefined && isSamePlace(item, place));
  showAnswer(world.windows.host, { request, answer, place, seen: seen?.resourceVersion });
  if (world.hostOf(place)?.resourceVersion === seen?.resourceVersion) return;
  for (const other of world.noteHost(keyOf(place.namespace, place.name), { isOwnWrite: true }))
    if (other !== facts.key) wake(other);
}

/** Tells the world of a write behind a shared name before it is sent; returns what to call after the answer. */
export function announceWrite(
  request: PlannedRequest,
  { facts, world, wake }: { facts: Facts; world: World; wake: (key: Key) => void },
): () => void {
  const { key, contest, place, servicePlace } = facts;
  if (!isHostWrite(request) || !contest || !place || !servicePlace) return () => {};
  const hostKey = keyOf(place.namespace, place.name);
  world.names.noteWrite(hostKey, { service: keyOf(servicePlace.namespace, servicePlace.name), copyOf: key });
  return () => {
    for (const other of world.noteHost(hostKey)) if (other !== key) wake(other);
  };
}
