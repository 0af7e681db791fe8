// Objects of two Services of one host name that cannot be on the host must not wake each other for ever: every look at them
// costs a GET of the host Service.
import { afterEach, expect, it } from 'vitest';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { entry } from '../../patch/fake-patch.ts';
import { service } from './fake-slices.ts';
import { both, first, second, type TwinService, TwinWorld } from './two-services.ts';

const mirroring = 'endpointslicemirroring-controller.k8s.io';
const answerMs = 10;
/** Each of the four objects looks every 30 s, and a look of one may wake the three others. */
const fewRequests = 40;
/** A storm ends here, so that a failing test ends too. */
const mostRequests = 400;

let world: TwinWorld;
let gets: string[];
afterEach(() => world.stopBoth());

interface How {
  /** The Services whose Endpoints fail their patch. */
  failing?: readonly TwinService[];
  /** The Services whose Endpoints have an address that the policy refuses. */
  refused?: readonly TwinService[];
}

async function runTwins({ failing = [], refused = [] }: How): Promise<void> {
  world = new TwinWorld({ mirrored: 'withEndpoints' });
  const isFailing = failing.map(({ address }) => `value === "${address}"`).join(' || ') || 'false';
  const expression = `${isFailing} ? value.no.such.thing : value`;
  world.options.patches = [entry({ path: 'subsets[*].addresses[*].ip', expression })];
  world.options.settings = { addressPolicy: { allow: [], deny: refused.map(({ address }) => `${address}/32`) } };
  world.putServices();
  for (const twin of both) {
    world.putEndpoints(twin);
    world.putSlice(twin, { manager: mirroring });
  }
  gets = [];
  const real = world.host.writer();
  const hostWriter: typeof real = {
    ...real,
    get: async (resource, place) => {
      gets.push(`${resource.resource} ${place.name}`);
      if (gets.length > mostRequests)
        return { kind: 'throttled', retryAfterMs: 60_000, message: 'a storm of requests' };
      await new Promise<void>((resolve) => void world.clock.after(answerMs, resolve));
      return real.get(resource, place);
    },
  };
  await world.run({ awaits: 'EndpointSlice', hostWriter });
  await world.runSlices({ isBeside: true, hostWriter });
  await world.clock.advance(2000);
}

function putService({ name, namespace }: TwinService, spec: object): KubeObject {
  return world.virtual.put('services', service(name, namespace, spec));
}

async function requestsInAMinute(): Promise<number> {
  const before = gets.length;
  await world.clock.advance(60_000);
  return gets.length - before;
}

it.each([
  ['the first fails its patch', { failing: [first] }],
  ['the second fails its patch', { failing: [second] }],
  ['both fail their patch', { failing: both }],
  ['the first is refused', { refused: [first] }],
  ['both are refused', { refused: both }],
  ['one fails, the other is refused', { failing: [first], refused: [second] }],
  ['one is refused, the other fails', { failing: [second], refused: [first] }],
])('mirrored slices of two Endpoints, of which %s, come to rest', async (_, how) => {
  await runTwins(how);
  expect(await requestsInAMinute()).toBeLessThan(fewRequests);
  for (const twin of both) {
    putService(twin, { selector: { app: 'x' } });
    expect(await requestsInAMinute()).toBeLessThan(fewRequests);
    putService(twin, {});
    expect(await requestsInAMinute()).toBeLessThan(fewRequests);
  }
});
