// An operator that writes slices at random, and a host that is disturbed at random, with restarts in between: at rest the host
// holds exactly the copies that a few lines of rule 3.18 ask for. HOSTWARD_OPERATOR_RUNS sets the number of runs.
import { expect, it } from 'vitest';
import { hostName } from '../../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { hostNamespace, SliceWorld, service, slice } from './fake-slices.ts';

const runs = Number(process.env['HOSTWARD_OPERATOR_RUNS'] ?? 10);
const actsInRun = 60;
const actsToRest = 12;
const serviceLabel = 'kubernetes.io/service-name';
const managerLabel = 'endpointslice.kubernetes.io/managed-by';
const controllers = ['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io'];
const names = ['web-1', 'web-2', 'dual-6', 'n'.repeat(60), `${'long.'.repeat(50)}end`];
const services = ['web', 'dual', 'vc', 's'.repeat(62)];
const managers = [undefined, undefined, 'op.example.com', '', ...controllers];

const at = (name: string) => ({ namespace: 'default', name });
const copyName = (name: string) => hostName(at(name), 'vc');

/** The same numbers for the same seed, so that a failed run can be played again. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >> 8) / 2 ** 23;
  };
}

class Operator {
  readonly world = new SliceWorld();
  readonly pick: <T>(list: readonly T[]) => T;
  #address = 0;

  constructor(random: () => number) {
    this.pick = (list) => list[Math.floor(random() * list.length)] as (typeof list)[number];
  }

  slice(name: string): KubeObject {
    const { pick } = this;
    const addressType = pick(['IPv4', 'IPv4', 'IPv6']);
    const address = () =>
      addressType === 'IPv4'
        ? `10.0.${this.#address >> 8}.${this.#address++ & 255}`
        : `2001:db8::${(++this.#address).toString(16)}`;
    const manager = pick(managers);
    return slice({
      name,
      service: pick([...services, ...services, undefined, '', 'absent']),
      ...(manager !== undefined && { manager }),
      addressType,
      addresses: Array.from({ length: pick([0, 1, 2, 3]) }, address),
      ports: pick([
        null,
        [{ name: '', port: 80, protocol: 'TCP' }],
        [{ name: 'a', port: 80 + (this.#address % 9), protocol: 'TCP' }],
      ]),
      endpoint: pick([
        {},
        { conditions: { ready: false } },
        { nodeName: 'n1', zone: 'z1', hints: { forZones: [{ name: 'z1' }] } },
      ]),
    });
  }

  act(): void {
    const { world, pick } = this;
    const [name, serviceName] = [pick(names), pick(services)];
    const remove = () => world.virtual.remove('endpointslices', 'default', name);
    const acts: (() => void)[] = [
      () => world.put(this.slice(name)),
      () => world.put(this.slice(name)),
      remove,
      () => {
        remove();
        world.put(this.slice(name));
      },
      () => world.put(service(serviceName)),
      () => world.put(service(serviceName, 'default', pick([{ selector: { app: 'a' } }, {}, {}]))),
      () => world.virtual.remove('services', 'default', serviceName),
      () => world.host.remove('endpointslices', hostNamespace, copyName(name)),
      () => this.disturb(name),
    ];
    pick(acts)();
  }

  /** What a vCluster or an operator of the host leaves on a copy. */
  disturb(name: string): void {
    const { world, pick } = this;
    const copy = structuredClone(world.host.get('endpointslices', hostNamespace, copyName(name)));
    if (copy === undefined) return;
    const change = pick<(copy: KubeObject) => void>([
      ({ metadata }) => Object.assign(metadata.labels as object, { [serviceLabel]: pick(services) }),
      ({ metadata }) => Object.assign(metadata.labels as object, { [managerLabel]: pick(controllers) }),
      ({ metadata }) => delete metadata.labels?.[serviceLabel],
      ({ metadata }) => delete metadata.annotations?.['hostward.dev/base'],
      (object) => Object.assign(object, { endpoints: [{ addresses: ['10.9.9.9'] }] }),
      (object) => Object.assign(object, { ports: [{ name: 'old', port: 1, protocol: 'TCP' }] }),
    ]);
    change(copy);
    world.host.put('endpointslices', copy);
  }

  /** Name, type, Service label and payload of each copy that rule 3.18 asks for. */
  wanted(): unknown[] {
    const { virtual } = this.world;
    return virtual.list('endpointslices').flatMap(({ metadata: { name = '', labels = {} }, ...fields }) => {
      const named = labels[serviceLabel];
      const stands = named ? virtual.get('services', 'default', named) : undefined;
      const selector = (stands?.['spec'] as { selector?: object } | undefined)?.selector ?? {};
      if (!named || stands === undefined || Object.keys(selector).length > 0) return [];
      if (controllers.includes(labels[managerLabel] ?? '')) return [];
      return [shown(copyName(name), { ...fields, [serviceLabel]: copyName(named), manager: labels[managerLabel] })];
    });
  }

  found(): unknown[] {
    return this.world.host.list('endpointslices').map(({ metadata: { name = '', labels, annotations }, ...fields }) => {
      expect(labels?.[managerLabel]).toBe('hostward.dev');
      return shown(name, {
        ...fields,
        [serviceLabel]: labels?.[serviceLabel],
        manager: annotations?.['hostward.dev/managed-by'],
      });
    });
  }
}

function shown(name: string, of: Record<string, unknown>): unknown {
  const { addressType, endpoints = [], ports } = of;
  return { name, addressType, endpoints, ports: ports ?? null, service: of[serviceLabel], manager: of['manager'] };
}

const sorted = (list: readonly unknown[]) => list.map((one) => JSON.stringify(one)).sort();

it('at rest the host holds exactly what the operator’s slices ask for, and no slice of the tenant is ever written', async () => {
  for (let run = 1; run <= runs; run++) {
    const random = randomFrom(run);
    const operator = new Operator(random);
    const { world } = operator;
    await world.runSlices();
    for (let act = 1; act <= actsInRun; act++) {
      operator.act();
      if (random() < 0.3) await world.rest();
      if (act % actsToRest > 0) continue;
      if (random() < 0.4) {
        await world.slices.stop(100);
        for (let down = 0; down < 4; down++) operator.act();
        await world.runSlices();
      }
      // Longer than the pause between two repairs of a contested copy, and than that between two lists that lack many objects.
      for (let second = 0; second < 15; second++) {
        await world.clock.advance(1_000);
        await world.rest();
      }
      expect(sorted(operator.found()), `run ${run}, act ${act}`).toEqual(sorted(operator.wanted()));
    }
    expect(world.virtual.writes.filter((write) => !write.includes(' events '))).toEqual([]);
    await world.slices.stop(100);
  }
});
