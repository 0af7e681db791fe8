// The keys of the seals of a store on a cluster, out of the secrets that all replicas have.
import { randomBytes } from 'node:crypto';
import type { HostRecords } from '../../../store/kubernetes/records/host-records.ts';
import { metaName } from '../../../store/kubernetes/records/record-format.ts';
import { Seals } from '../../../store/kubernetes/trust/seals.ts';
import { openSecrets, readSecrets } from '../../keys/folder/data-folder.ts';

/** The first replica on an empty store makes the secrets; a store that has records must not get others. */
export async function sealsFor(
  host: HostRecords,
  { secretsFolder, isFirst }: { secretsFolder: string; isFirst: boolean },
): Promise<Seals> {
  const known = await readSecrets(secretsFolder);
  if (known !== undefined) return new Seals(known.sealKeys);
  if (!isFirst || (await host.get(metaName)) !== undefined) return new Seals([]);
  return new Seals((await openSecrets(secretsFolder, randomBytes, false)).sealKeys);
}
