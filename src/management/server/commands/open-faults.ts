// What somebody must mend outside of the management API, in sentences for the first line of `hostward status`: rights of client
// certificates that could not be taken away, rights that Hostward lacks in the clusters behind it, keys of teams that are known
// to users who have left, a damaged audit log. Pure.
import { andMore } from '../../../object/text/in-words.ts';
import { type LeaversKeys, leaverSentence } from '../../keys/life/leavers.ts';

export interface FailedRemoval {
  /** PROJECT/NAME. */
  instance: string;
  /** Empty before the first attempt has ended. */
  trouble: string;
}

export interface UpstreamFault {
  /** `cluster c1`. */
  name: string;
  missing: readonly string[];
  /** Why nothing could be asked. */
  trouble?: string;
  mend?: string;
}

export function openFaults(of: {
  removalsWaiting: readonly FailedRemoval[];
  upstreams: readonly UpstreamFault[];
  leavers: readonly LeaversKeys[];
  damages: readonly (string | undefined)[];
}): string[] {
  const instances = [...new Set(of.removalsWaiting.map(({ instance }) => instance))];
  return [
    ...of.damages.filter((damage) => damage !== undefined),
    ...instances.map((instance) => removalSentence(instance, of.removalsWaiting)),
    ...of.upstreams.map(sentence),
    ...of.leavers.map(leaverSentence),
  ];
}

function removalSentence(instance: string, all: readonly FailedRemoval[]): string {
  const here = all.filter((each) => each.instance === instance);
  const certificates = here.length === 1 ? 'a client certificate' : `${here.length} client certificates`;
  const trouble = here.find((each) => each.trouble !== '')?.trouble;
  const because = trouble === undefined ? 'the removal is under way' : trouble;
  return `${certificates} of ended access keys may still have rights in the virtual cluster ${instance}: ${because}`;
}

function sentence({ name, missing, trouble, mend }: UpstreamFault): string {
  if (trouble !== undefined) return `${name} cannot be asked for the rights of Hostward: ${trouble}`;
  const [first = '', ...others] = missing;
  const todo = mend === undefined ? '' : `; give them with: ${mend}`;
  return `Hostward lacks rights in ${name} (${first}${andMore(others.length)})${todo}`;
}
