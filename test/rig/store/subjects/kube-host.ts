// A real kube-apiserver under the replicas, behind a cable that is cut. At every cut its etcd forgets the past; what the server remembers of it goes only
// when it is started again, so not at every cut.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newNamespace } from '../../../contract/store/on-host.ts';
import { startKube } from '../../../kube/start/start.ts';
import { Cable } from '../../../kube/store/cable.ts';
import type { Host } from './kubernetes-subject.ts';

/** A start takes as long as many histories. */
const forgetEvery = 10;

export async function startKubeHost(): Promise<Host> {
  const kube = await startKube({ name: 'rig-store' });
  const cable = new Cable(kube, join(kube.folder, 'rig.kubeconfig'));
  await cable.open();
  const { clusters } = JSON.parse(readFileSync(cable.kubeconfigPath, 'utf8'));
  let cuts = 0;
  return {
    server: { url: clusters[0].cluster.server, caPem: kube.caPem, adminToken: kube.adminToken },
    async cut() {
      cable.set('cut');
      // Something happens meanwhile, so that no stream can go on where it was.
      await newNamespace(kube);
      await (cuts++ % forgetEvery === 0 ? kube.compact() : kube.compactEtcd());
      cable.set('open');
    },
    async stop() {
      cable.close();
      await kube.stop();
    },
  };
}
