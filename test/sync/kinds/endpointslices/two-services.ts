// Two Services of two tenants' namespaces that get one host name, with slices and Endpoints of both between two fake clusters.
import { expect } from 'vitest';
import { hostName } from '../../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import type { SyncOptions } from '../../../../src/sync/loop/sync-options.ts';
import type { Outcome } from '../../../../src/sync/plan/step.ts';
import { endpoints } from '../../fake-sync.ts';
import { hostNamespace, type SliceParts, SliceWorld, service, slice } from './fake-slices.ts';

export interface TwinService {
  namespace: string;
  name: string;
  /** Of its objects. */
  creationTimestamp: string;
  address: string;
}

export const first: TwinService = {
  namespace: 'default',
  name: 'col-x-default',
  creationTimestamp: '2026-01-01T00:00:00Z',
  address: '10.1.1.1',
};
export const second: TwinService = {
  namespace: 'default-x-default',
  name: 'col',
  creationTimestamp: '2026-01-02T00:00:00Z',
  address: '10.2.2.2',
};
export const both = [first, second] as const;

export const sharedName = hostName(first, 'vc');

export class TwinWorld extends SliceWorld {
  putServices(): void {
    for (const { name, namespace } of both) this.put(service(name, namespace));
  }

  putSlice(of: TwinService, { name = 'one', metadata, ...parts }: SliceParts = {}): void {
    const { namespace, creationTimestamp, address } = of;
    const made = { namespace, creationTimestamp, ...metadata };
    this.put(slice({ name, service: of.name, addresses: [address], metadata: made, ...parts }));
  }

  putEndpoints({ namespace, name, creationTimestamp, address }: TwinService, ip = address): void {
    this.virtual.put('endpoints', endpoints(name, ip, { namespace, creationTimestamp }));
  }

  async runBoth(ofEndpoints: Partial<SyncOptions> = {}): Promise<void> {
    await this.run({ awaits: 'EndpointSlice', ...ofEndpoints });
    await this.runSlices({ isBeside: true });
    await this.clock.advance(2000);
  }

  async stopBoth(): Promise<void> {
    await this.slices.stop(100);
    await this.sync.stop(100);
  }

  outcomeOf({ namespace }: TwinService, name = 'one'): Outcome | undefined {
    return this.slices.ledger.outcomeOf(`${namespace}/${name}`);
  }

  copies(): KubeObject[] {
    return [...this.host.list('endpoints'), ...this.host.list('endpointslices')];
  }

  removeCopies(): void {
    for (const { kind, metadata } of this.copies())
      this.host.remove(kind === 'Endpoints' ? 'endpoints' : 'endpointslices', hostNamespace, metadata.name as string);
  }

  /** The virtual namespaces whose addresses stand behind the host name. */
  behind(): string[] {
    const found = this.copies().filter(({ kind, metadata: { name, labels } }) =>
      kind === 'Endpoints' ? name === sharedName : labels?.['kubernetes.io/service-name'] === sharedName,
    );
    const namespaces = found.map(({ metadata }) => metadata.annotations?.['vcluster.loft.sh/object-namespace'] ?? '');
    return [...new Set(namespaces)].sort();
  }

  /** Fails as soon as a write on the host leaves two namespaces behind the name. */
  neverMixed(): void {
    for (const verb of ['put', 'remove'] as const) {
      const real = this.host[verb].bind(this.host) as (...given: unknown[]) => unknown;
      this.host[verb] = ((...given: unknown[]) => {
        const answer = real(...given);
        expect(this.behind().length).toBeLessThanOrEqual(1);
        return answer;
      }) as never;
    }
  }
}
