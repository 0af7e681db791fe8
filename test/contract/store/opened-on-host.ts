// Opens stores and hands on the records of a host for one file of tests, and closes them after each test, the newest first.
import { afterEach } from 'vitest';
import type { HostSecrets } from '../../../src/management/server/host/records/host-secrets.ts';
import type { KubernetesStoreOptions } from '../../../src/store/kubernetes/store-options.ts';
import { type HostServer, type NumberedStore, recordsOn, storeOn } from './on-host.ts';

/** Call it at the top of a file of tests. `host` is asked when a test opens something. */
export function openedOn(host: () => HostServer, defaults: () => Partial<KubernetesStoreOptions>) {
  const open: { stop(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.stop();
  });
  return {
    async started(namespace: string, options: Partial<KubernetesStoreOptions> = {}): Promise<NumberedStore> {
      const store = storeOn(host(), namespace, { ...defaults(), ...options });
      open.push(store);
      await store.start();
      return store;
    },
    /** Somebody with kubectl. */
    byHand(namespace: string): HostSecrets {
      const records = recordsOn(host(), namespace);
      open.push(records);
      return records;
    },
  };
}
