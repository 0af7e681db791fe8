// What several replicas must have alike: the configuration that says who exists, and the peppers that keys are made with.
import { compareWith } from '../../../../management/keys/callers/ruling-configuration.ts';
import { pepperInUse, type Secrets } from '../../../../management/keys/folder/data-folder.ts';
import { counted, firstLines } from '../../../../object/text/in-words.ts';
import { isNameOfRecord, isOfNewer } from '../../../../store/kubernetes/records/record-format.ts';
import type { Check } from '../../patient/check.ts';
import { type Finding, fault, ok, warning } from '../../patient/finding.ts';
import type { StoredRecords } from '../../patient/stored-records.ts';

/** Enough names to know what it is about. */
const namesShown = 5;

export const isAgreed: Check = {
  code: 'HW-811',
  needs: ['HW-101', 'HW-806'],
  applies: ({ settings, isBeforeInstallation }) =>
    settings.managementServer?.store?.kubernetes !== undefined && !isBeforeInstallation,
  async look(patient) {
    const { management } = patient.settings;
    const { configuration, files } = patient.records;
    if (management === undefined || configuration === undefined)
      return ok('no replica has written its configuration into the store yet');
    const { generation = 0 } = management;
    const found = compareWith(management, { stored: configuration, files });
    const what = 'users, teams, projects and clusters';
    switch (found.kind) {
      case 'same':
        return ok(`the ${what} of this configuration rule`);
      case 'newer':
        return ok(
          `this configuration has generation ${generation}, the highest: its ${what} count as soon as a replica starts with it`,
        );
      case 'older':
        return warning(
          `another configuration, of generation ${found.than}, decides the ${what}; this one has generation ${generation}`,
          {
            mend: `use that file here too, or set hostward.management.generation to ${found.than + 1} or more for this one to rule`,
          },
        );
      case 'rules':
      case 'differs': {
        const count = found.kind === 'rules' ? 'count' : 'do not count';
        return fault(
          `two configurations of generation ${generation} have different ${what}, and those of this configuration ${count}`,
          {
            mend: 'give all replicas the same file, or the right one a higher hostward.management.generation',
          },
        );
      }
      default:
        return found satisfies never;
    }
  },
};

/** `proof`: what the store knows of the secrets. */
export function lateSecrets(proof: string | undefined, { peppers }: Secrets, folder: string): Finding | undefined {
  if (proof === undefined) return undefined;
  const { version, isHere } = pepperInUse(proof, peppers);
  if (isHere) return undefined;
  return fault(
    `keys are made with pepper ${version}, which ${folder} does not have: a replica with this folder answers 503`,
    {
      mend: 'put the secrets.json of the other replicas there',
    },
  );
}

export function notBelieved(
  { unusable, marked, meta, foreign }: StoredRecords,
  namespace: string,
): Finding | undefined {
  const newer = unusable.filter(({ why }) => isOfNewer(why));
  const doubted = unusable.filter(({ why }) => !isOfNewer(why));
  const lines = (records: StoredRecords['unusable']) =>
    firstLines(
      records.map(({ name, why }) => `${name}: ${why}`),
      namesShown,
    );
  if (doubted.length > 0)
    return warning(
      `${counted(doubted.length, 'record')} in ${namespace} ${doubted.length === 1 ? 'is not believed and lets' : 'are not believed and let'} nobody in`,
      {
        details: lines([...doubted, ...newer]),
        mend: `kubectl -n ${namespace} get secret ${doubted[0]?.name} -o yaml   # delete it, or put back the data that it had last; where a replica has started since, only "hostward store recover" names the key and disables it`,
      },
    );
  if (newer.length > 0)
    return warning(
      `${counted(newer.length, 'record')} in ${namespace} ${newer.length === 1 ? 'is of a newer version of Hostward, and lets' : 'are of a newer version of Hostward, and let'} nobody in on replicas of this one`,
      { details: lines(newer), mend: 'run that version, or a newer one, on all replicas; nothing is damaged' },
    );
  const inTheWay = foreign.filter(isNameOfRecord);
  if (inTheWay.length > 0)
    return warning(
      `${counted(inTheWay.length, 'Secret')} of another type in ${namespace} ${inTheWay.length === 1 ? 'has the name of a record, which counts' : 'have the names of records, which count'} as deleted and cannot be made again`,
      {
        details: firstLines(inTheWay, namesShown),
        mend: `kubectl -n ${namespace} delete secret ${inTheWay[0]}   # the type of a Secret cannot be changed: make the key again`,
      },
    );
  if (marked.length > 0)
    return warning(
      `${counted(marked.length, 'record')} in ${namespace} ${marked.length === 1 ? 'is' : 'are'} marked immutable, and every change is refused: a key could not be disabled when it must be`,
      {
        details: firstLines(
          marked.map(({ name, what }) => `${name}: ${what}`),
          namesShown,
        ),
        mend: `hostward keys revoke NAME   # for each access key, and make a new one: deleting works, and nobody can take the mark off`,
      },
    );
  if (typeof meta !== 'object' || meta.store !== undefined) return undefined;
  return warning(`the records in ${namespace} have no seals, so that one that somebody makes by hand is believed`, {
    mend: 'when every replica is of this version: stop all of them, and run "hostward store seal" once',
  });
}
