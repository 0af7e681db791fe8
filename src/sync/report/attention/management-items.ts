// Picks from a status what needs a person in the management API: its troubles, and keys that end soon, each with a command to copy. In: the
// status as JSON. Out: rows. Pure.
import { counted } from '../../../object/text/in-words.ts';
import { textsIn } from '../../../object/text/json.ts';
import { shellWord } from '../../../safe-text.ts';
import { isFacts, type StatusJson, say } from '../words.ts';
import { type AttentionItem, item, rowsOf } from './attention-item.ts';
import { configuredCommand } from './own-commands.ts';
import type { Remedy } from './remedies.ts';

export function managementItems(status: StatusJson): AttentionItem[] {
  const { management } = status;
  if (!isFacts(management)) return [];
  return [
    ...textsIn(management['troubles']).map((message) => {
      const remedy = managementRemedy(status, message);
      return { ...item('management API', 'Trouble', message, remedy), cause: remedy.command };
    }),
    ...endingItems(status, management),
  ];
}

export const endingGroup = 'access keys EndingSoon';

/** The next to end first; the others are counted. */
function endingItems(status: StatusJson, { expiringWithinSevenDays, nextKeysToEnd }: StatusJson): AttentionItem[] {
  if (!(Number(expiringWithinSevenDays ?? 0) > 0)) return [];
  // An older daemon tells the names alone, or none.
  const named = rowsOf(nextKeysToEnd).map(({ key, endsAt }) => ({ key: say(key), message: `ends at ${say(endsAt)}` }));
  const untimed = textsIn(nextKeysToEnd).map((key) => ({ key, message: 'ends within seven days' }));
  const found = [...named, ...untimed].map(({ key, message }) => {
    const command = `keys extend ${shellWord(key)} --ttl ${usualExtension}`;
    return {
      ...item(`access key ${key}`, 'EndingSoon', message, {
        remedy: 'let it go on, for as long as you like; what is to end may end',
        command: configuredCommand(status, command, { isFilesOnly: true }),
      }),
      group: endingGroup,
    };
  });
  if (found.length > 0) return found;
  const message = `${counted(Number(expiringWithinSevenDays), 'key ends', 'keys end')} within seven days`;
  const command = configuredCommand(status, 'keys list', { isFilesOnly: true });
  return [item('access keys', 'EndingSoon', message, { remedy: 'this names them', command })];
}

/** A season. */
const usualExtension = '90d';

function managementRemedy(status: StatusJson, message: string): Remedy {
  return (
    rightsThere(status, message) ??
    leaverRemedy(status, message) ??
    recordRemedy(message) ??
    auditRemedy(status, message) ?? { ...doctorsWord(message), command: configuredCommand(status, 'doctor') }
  );
}

/** Doctor asks each cluster behind the API and looks at each file and record. */
function doctorsWord(message: string): Pick<Remedy, 'remedy'> {
  const [, cluster] = /^((?:virtual )?cluster \S+) cannot be asked for the rights/.exec(message) ?? [];
  return {
    remedy:
      cluster === undefined
        ? 'mend what the message names; this looks at it and says how'
        : `bring ${cluster} back, or correct the kubeconfig of its entry in hostward.management; this asks it`,
  };
}

/** The API's own kubeconfig may not grant. */
function rightsThere(status: StatusJson, message: string): Remedy | undefined {
  const [, cluster, which] =
    /^Hostward lacks rights in ((?:virtual )?cluster \S+) .*give them with: hostward upstream-rbac (.+?) --config FILE/.exec(
      message,
    ) ?? [];
  if (cluster === undefined || which === undefined) return undefined;
  const words = which.split(' ').map(shellWord).join(' ');
  return {
    remedy: `this gives them, with a kubectl of an administrator of ${cluster}`,
    command: `${configuredCommand(status, `upstream-rbac ${words}`, { isFilesOnly: true })} | kubectl apply -f -`,
  };
}

function leaverRemedy(status: StatusJson, message: string): Remedy | undefined {
  const [, user] = /\(hostward keys list --made-by (.+)\)$/.exec(message) ?? [];
  if (user === undefined) return undefined;
  const list = `keys list --made-by ${shellWord(user)}`;
  return {
    remedy: 'rotate them without --overlap, or revoke them; this lists them',
    command: configuredCommand(status, list, { isFilesOnly: true }),
  };
}

function recordRemedy(message: string): Remedy | undefined {
  const [, place, marked, key] =
    /records? in namespace "([^"]+)" of .* marked immutable, .*; the first is ([^\s:]+), the (?:access key|record) "([^"]*)": delete/.exec(
      message,
    ) ?? [];
  if (place !== undefined && marked !== undefined)
    return {
      remedy: `delete "${key}" and make a new one, as the log says of each; this shows its record, with a kubectl of the cluster of the records`,
      command: `kubectl --namespace ${shellWord(place)} get secret ${shellWord(marked)} -o yaml`,
    };
  const [, namespace, name] =
    /records? in namespace "([^"]+)" of .* (?:has|have) lost (?:its|their) label .*; the first is ([^\s:]+): delete/.exec(
      message,
    ) ?? [];
  if (namespace === undefined || name === undefined) return undefined;
  return {
    remedy: 'delete the Secrets that the log names; this shows the first, with a kubectl of the cluster of the records',
    command: `kubectl --namespace ${shellWord(namespace)} get secret ${shellWord(name)} --show-labels`,
  };
}

function auditRemedy(status: StatusJson, message: string): Remedy | undefined {
  if (!/\baudit log\b/.test(message)) return undefined;
  return {
    remedy: 'keep the files as they are, and compare them with the copies in your log storage; this checks every line',
    command: configuredCommand(status, 'audit verify', { isFilesOnly: true }),
  };
}
