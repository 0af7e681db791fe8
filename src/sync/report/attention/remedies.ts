// Long because each reason that a status can name has its advice here.
// Says what a person does about a reason, with a command to copy. There is one answer for objects, references and outages, so that the
// same trouble gets the same advice wherever it shows. In: a reason with its message, and what it is about. Out: texts. Pure.

import { refusedRight } from '../../../cluster/refused-right.ts';
import { keyOf, splitKey } from '../../../object/meta/object.ts';
import { shellWord } from '../../../safe-text.ts';
import { stillHasSelector, wrongNames } from '../../plan/decide/outcomes.ts';
import { controlledByKey } from '../../plan/keys/reserved-keys.ts';
import { impossibleText } from '../../references/nothing-behind.ts';
import { admissionRival } from '../../world/contest.ts';
import { isFacts, type StatusJson, say } from '../words.ts';
import {
  administratorsKubectl,
  configuredCommand,
  hostKubectl,
  settingPlace,
  startedAs,
  statusCommand,
  virtualKubectl,
} from './own-commands.ts';

export interface Remedy {
  remedy: string;
  command: string;
}

export interface RemediedTrouble {
  reason: string;
  message: string;
  status: StatusJson;
  /** The address at which the reader asked the daemon, so that printed commands ask there too. */
  address: string | undefined;
  /** The virtual object, where it is about one. */
  object?: string;
  kind?: string | undefined;
  /** Where the configuration has the settings of this kind; an older daemon does not tell. */
  settings?: string | undefined;
  /** The copy on the host, or the object in its place. */
  hostObject?: string | undefined;
  /** Who else writes the copy. */
  by?: string;
  /** What the answer to a write of ours lacked of it. */
  lost?: string;
  /** Where it is about one; otherwise the message may say. */
  cluster?: string | undefined;
  /** On the host, where every right in it is missing. */
  lostNamespace?: string;
}

type Advice = (trouble: RemediedTrouble) => Remedy;

const look: Advice = ({ object, status, address }) => ({
  remedy: 'look at it',
  command: object === undefined ? statusCommand(status, '--all', address) : statusCommand(status, object, address),
});

const doctor: Advice = (trouble) =>
  rightsAdvice(trouble) ??
  webhookAdvice(trouble) ?? {
    remedy: 'see whether the API server answers, and to whom',
    command: configuredCommand(trouble.status, 'doctor'),
  };

/** Undefined where the message says nothing of rights. */
function rightsAdvice({ status, message, cluster }: RemediedTrouble): Remedy | undefined {
  const remedy = missingRight(message);
  if (remedy === undefined) return undefined;
  const side = cluster ?? /\b(virtual|host) cluster\b/.exec(message)?.[1];
  const command = configuredCommand(status, 'doctor');
  if (side !== 'virtual' && side !== 'host')
    return { remedy: `${remedy}; doctor names every verb that is missing`, command };
  const kubectl = administratorsKubectl(status, side);
  return {
    remedy: `${remedy}; this grants all that is missing, ${asAdministrator(side)}`,
    command: `${command} --rights ${side} | ${kubectl} auth reconcile -f -`,
  };
}

/** The API server answers and does not write, because somebody whom it asks does not answer. */
function webhookAdvice({ status, message, cluster }: RemediedTrouble): Remedy | undefined {
  const [, webhook] = /failed calling webhook "([^"]+)"/.exec(message) ?? [];
  if (webhook === undefined) return undefined;
  const side = cluster === 'virtual' ? 'virtual' : 'host';
  return {
    remedy: `mend what the webhook "${webhook}" calls, or let it pass what it cannot judge; this shows it, ${asAdministrator(side)}`,
    command: `${administratorsKubectl(status, side)} get validatingwebhookconfigurations,mutatingwebhookconfigurations`,
  };
}

/** Only what the API server calls before it stores a write can change the write on its way. */
function alteredAdvice({ status, by, lost = 'marks of a copy' }: RemediedTrouble): Remedy | undefined {
  if (by !== admissionRival) return undefined;
  const kubectl = administratorsKubectl(status, 'host');
  return {
    remedy: `let that webhook or policy leave the ${lost} alone; these list them, ${asAdministrator('host')}`,
    command: `${kubectl} get mutatingwebhookconfigurations; ${kubectl} get mutatingadmissionpolicies`,
  };
}

/** The daemon's own kubeconfig has no more rights than the daemon needs. */
function asAdministrator(side: 'virtual' | 'host'): string {
  return `with a kubectl of an administrator of the ${side} cluster`;
}

/** Editing the tenant's object does not help when a quota is full, so the advice is about the quota. */
function quotaAdvice({ status, message, object, hostObject }: RemediedTrouble): Remedy | undefined {
  const side = /a quota of the (virtual|host) namespace is full/.exec(message)?.[1];
  if (side !== 'virtual' && side !== 'host') return undefined;
  const place = side === 'host' ? hostObject : object;
  const namespace = place === undefined ? say(status['hostNamespace']) : splitKey(place).namespace;
  const kubectl = administratorsKubectl(status, side);
  return {
    remedy: `raise the quota, or remove what counts and is not needed; this shows how much of what there is, ${asAdministrator(side)}`,
    command: `${kubectl} --namespace ${shellWord(namespace)} describe resourcequota`,
  };
}

/** A lease that somebody else left behind ends by itself. */
const leaderless: Advice = (trouble) =>
  trouble.message.includes('waits for the lease')
    ? {
        remedy: 'nothing, if the lease is renewed or runs out; this shows it',
        command: `${hostKubectl(trouble.status)} --namespace ${shellWord(say(trouble.status['hostNamespace']))} get lease ${shellWord(`hostward-${say(trouble.status['virtualCluster'])}`)} --output yaml`,
      }
    : doctor({ ...trouble, cluster: 'host' });

const otherInPlace: Advice = (trouble) => ({
  remedy: 'rename the virtual object, or remove the other object on the host; this shows it',
  command: onHost(trouble, 'get', ' --output yaml'),
});

const advices: Readonly<Record<string, Advice>> = {
  AddressRefused: (trouble) => ({
    remedy: trouble.message.includes('always refused')
      ? "correct the addresses in the tenant's object; no setting lets these through"
      : `correct the addresses in the tenant's object, or let them through in ${settingPlace(trouble.status, 'hostward.addressPolicy')}`,
    command: editVirtual(trouble),
  }),
  BackflowFailed: (trouble) =>
    rightsAdvice(trouble) ?? {
      remedy: `correct the value on the host, or the reverse expression in ${patchPlace(trouble)}`,
      command: onHost(trouble, 'edit'),
    },
  Behind: doctor,
  Leaderless: leaderless,
  Contested: (trouble) =>
    alteredAdvice(trouble) ?? {
      remedy: `stop what writes the copy${trouble.by === undefined ? '' : ` as "${trouble.by}"`}, or leave the copy to it with the annotation ${controlledByKey} on the copy; this shows each change with its writer`,
      command: onHost(trouble, 'get', ' --watch --output yaml --show-managed-fields'),
    },
  DeleteWithheld: (trouble) => ({
    ...look(trouble),
    remedy: 'nothing, if the objects come back; a second list decides within a minute',
  }),
  Forbidden: (trouble) => rightsAdvice(trouble) ?? { ...doctor(trouble), remedy: 'grant the verbs that doctor names' },
  MissingVerbs: (trouble) => rightsAdvice(trouble) ?? { ...doctor(trouble), remedy: 'grant the verbs' },
  NotServed: (trouble) => {
    const side = /\bvirtual cluster\b/.test(trouble.message) ? 'virtual' : 'host';
    return {
      remedy: `upgrade the ${side} cluster, or switch the sync of this kind off; this shows what the cluster serves`,
      command: `${administratorsKubectl(trouble.status, side)} api-versions`,
    };
  },
  HostNameTaken: (trouble) =>
    trouble.message.endsWith(stillHasSelector)
      ? {
          remedy: "nothing, if vCluster's sync of Services takes the selector away; this shows it",
          command: onHost({ ...trouble, kind: 'Service' }, 'get', ' --output yaml'),
        }
      : otherInPlace(trouble),
  HostNamespaceMissing: (trouble) => ({
    remedy: `correct the mapping in sync.toHost.namespaces, or create the host namespace, ${asAdministrator('host')}`,
    command:
      trouble.hostObject === undefined
        ? look(trouble).command
        : `${administratorsKubectl(trouble.status, 'host')} create namespace ${shellWord(splitKey(trouble.hostObject).namespace)}`,
  }),
  HostRefused: (trouble) =>
    quotaAdvice(trouble) ?? {
      remedy: "correct in the tenant's object what the host cluster refuses, or what a patch makes of it",
      command: editVirtual(trouble),
    },
  NameCollision: (trouble) => ({
    ...look(trouble),
    remedy: `rename one of the two ${trouble.message.startsWith('its Service') ? 'Services' : 'virtual objects'}`,
  }),
  NotOurs: (trouble) => ({
    remedy: 'delete the copy on the host if nobody needs it, or give it its annotations back; this shows it',
    command: onHost(trouble, 'get', ' --output yaml'),
  }),
  NotOwned: (trouble) =>
    trouble.message.includes(wrongNames)
      ? {
          remedy:
            'correct object-name and object-namespace on the copy, or delete the copy, and it is made again; this shows it',
          command: onHost(trouble, 'get', ' --output yaml'),
        }
      : otherInPlace(trouble),
  OwnerMissing: ({ status, message }) => {
    const going = goingNamespace(message) ?? goingNamespace(sentenceOf(status));
    if (going !== undefined)
      return {
        remedy: 'create the namespace again when it is gone, if it is still wanted; this says what keeps it',
        command: `${administratorsKubectl(status, 'host')} get namespace ${shellWord(going)} --output yaml`,
      };
    return {
      remedy: 'bring the Service of the virtual cluster back on the host',
      command: `${hostKubectl(status)} --namespace ${shellWord(say(status['hostNamespace']))} get service ${shellWord(say(status['virtualCluster']))}`,
    };
  },
  PatchFailed: (trouble) => ({
    remedy: `correct ${patchPlace(trouble)}, or the value in the tenant's object on which it fails; this ${triedOn(trouble) === undefined ? 'shows the object' : 'tries the patches on the object'}`,
    command: triedOn(trouble) ?? virtual(trouble, 'get', { more: ' --output yaml' }),
  }),
  RightsLost: (trouble) => ({
    remedy: `see whether the namespace stands, ${asAdministrator('host')}; if it does, doctor prints the command that grants the rights`,
    command: `${administratorsKubectl(trouble.status, 'host')} get namespace ${shellWord(say(trouble.lostNamespace))}; ${configuredCommand(trouble.status, 'doctor')}`,
  }),
  ReferenceRefused: (trouble) => ({
    ...look(trouble),
    remedy: 'name another object: the token of a service account never leaves its cluster',
  }),
  Unreachable: doctor,
  unreachable: doctor,
  unreadable: doctor,
  retry: (trouble) =>
    rightsAdvice(trouble) ??
    webhookAdvice(trouble) ?? {
      ...doctor(trouble),
      remedy: 'nothing, if it passes; otherwise see whether the API server answers, and to whom',
    },
  leaderless,
  unread: (trouble) =>
    rightsAdvice(trouble) ?? { ...doctor(trouble), remedy: 'see whether the API server answers, and to whom' },
  unresolved: (trouble) => ({
    remedy: trouble.message.includes(impossibleText)
      ? "correct in the tenant's object the name that the patch reads; this lists what is there"
      : 'create the object, correct the name that the patch reads, or label the object of the host; this lists what is there',
    command: [virtual(trouble, 'get', { isList: true }), ...onHostToo(trouble)].join('; '),
  }),
  unwritable: doctor,
};

/** A Service that went with its namespace does not come back by itself. */
function goingNamespace(text: string): string | undefined {
  return /\bhost namespace "([^"]+)" is being deleted\b/.exec(text)?.[1];
}

function sentenceOf({ verdict }: StatusJson): string {
  return isFacts(verdict) ? say(verdict['sentence']) : '';
}

export function remedyOf(trouble: RemediedTrouble): Remedy {
  return (Object.hasOwn(advices, trouble.reason) ? (advices[trouble.reason] as Advice) : look)(trouble);
}

/** The parts of an object's status that its remedy follows from. */
export interface RemediedObject {
  object: string;
  kind?: string;
  state: string;
  message?: string;
  hostObject?: string;
  contestedBy?: string;
  unread?: readonly string[];
  references?: readonly { object: string; standing: string; message?: string }[];
}

/** An object of the host without the label is not seen by the daemon, and forgetting the label is the usual mistake. */
function onHostToo({ status, object, kind, message }: RemediedTrouble): string[] {
  const { names, hostNamespace } = status;
  if (names !== 'single namespace' || object === undefined || kind === undefined || message.includes(impossibleText))
    return [];
  const at = { verb: 'get', kind, object: keyOf(say(hostNamespace), splitKey(object).name) };
  return [`${hostKubectl(status)} ${objectWords(at)} --show-labels`];
}

/** For who looks at one object; empty when it needs nobody. */
export function objectRemedies(asked: AskedDaemon, object: RemediedObject): Remedy[] {
  const found = [...(object.unread ?? []).map((one) => unreadRemedy(asked, one)), ...ownRemedies(asked, object)];
  return [...new Map(found.map((one) => [`${one.remedy} ${one.command}`, one])).values()];
}

/** For who looks for what cannot be read. */
export function unreadRemedy(asked: AskedDaemon, message: string): Remedy {
  return remedyOf({ ...asked, reason: 'unread', message });
}

type AskedDaemon = Pick<RemediedTrouble, 'status' | 'address'>;

function ownRemedies(
  { status, address }: AskedDaemon,
  { object, kind, state, message = '', hostObject, contestedBy, references = [] }: RemediedObject,
): Remedy[] {
  const [outcome, reason] = state.split('/') as [string, string?];
  if (state === 'pending' && message !== '') return [remedyOf({ status, address, reason: 'Leaderless', message })];
  const isWell = !['unresolved', 'unread', 'retry'].includes(outcome) && reason === undefined;
  if (isWell || !needsPerson(state)) return [];
  const behind = references.filter(({ standing }) => /^(?:unresolved|unread|refused\/.*)$/.test(standing));
  if (outcome === 'inSync' && behind.length > 0 && reason?.startsWith('Reference')) {
    return behind.map(({ object: name, standing, message: why = '' }) => {
      const [of, key] = name.split(' ') as [string, string];
      const about = { object: key, kind: of, reason: standing.split('/').at(-1) as string, message: why };
      return remedyOf({ status, address, ...about });
    });
  }
  const block = [status, ...Object.values(status)].find((one) => isFacts(one) && one['kind'] === kind);
  const settings = isFacts(block) ? block['settings'] : undefined;
  const mended = remedyOf({
    ...{ status, address, object, kind, message, hostObject },
    reason: reason ?? outcome,
    ...(typeof settings === 'string' && { settings }),
    ...(contestedBy !== undefined && { by: contestedBy }),
  });
  return [mended];
}

/** Most waits end by themselves; a copy that its operator keeps from us is as that person wants it, but nobody wants one that nothing removes. */
export function needsPerson(state: string): boolean {
  const [kind, reason = ''] = state.split('/') as [string, string?];
  if (kind === 'left') return reason === 'NotOurs';
  return kind === 'waiting' ? Object.hasOwn(advices, reason) : kind !== 'ineligible';
}

/** What an API server that refuses wants, in its own words or in ours; undefined where the message says nothing of rights. */
function missingRight(message: string): string | undefined {
  const refused = refusedRight(message);
  if (refused !== undefined) {
    const { verb, resource, group, namespace } = refused;
    const what = group === '' ? resource : `${resource}.${group}`;
    return grant(verb, what, namespace === undefined ? '' : ` in the namespace ${namespace}`);
  }
  const [, side, right, plural] = message.match(/the (virtual|host) cluster does not allow "(\w+)" on (\w+)/) ?? [];
  if (right !== undefined) return grant(right, plural, ` in the ${side} cluster`);
  const [, unmet, of] = message.match(/\bnot allowed to (\w+) ([^;]+)/) ?? [];
  if (unmet !== undefined) return `grant "${unmet}" of ${of}`;
  return /forbidden|not allow/i.test(message) ? 'grant the verbs that doctor names' : undefined;
}

function grant(verb: string, what: string | undefined, where: string): string {
  return `grant "${verb}" of ${what}${where}`;
}

/** A pod reads no standard input of a copied command. */
function triedOn(trouble: RemediedTrouble): string | undefined {
  const { status, object, kind } = trouble;
  if (object === undefined || kind === undefined || startedAs(status).addressBeside !== undefined) return undefined;
  const render = configuredCommand(status, 'render', { isFilesOnly: true });
  return `${virtual(trouble, 'get', { more: ' --output yaml' })} | ${render} --explain -f -`;
}

/** The number of the patch that a message names. */
export function failedPatch(message: string): string | undefined {
  return /\bpatch (\d+)\b/.exec(message)?.[1];
}

/** The patch that a message names, where it is written. */
function patchPlace({ status, settings, message }: RemediedTrouble): string {
  const patch = failedPatch(message);
  const list = settings === undefined ? 'the patches' : `${settings}.patches`;
  return settingPlace(status, patch === undefined ? list : `${list}[${patch}]`);
}

function editVirtual(trouble: RemediedTrouble): string {
  return virtual(trouble, 'edit');
}

function virtual(trouble: RemediedTrouble, verb: string, { isList = false, more = '' } = {}): string {
  const { object, kind, status } = trouble;
  if (object === undefined || kind === undefined) return look(trouble).command;
  return `${virtualKubectl(status)} ${objectWords({ verb, kind, object, isList })}${more}`;
}

function onHost(trouble: RemediedTrouble, verb: string, more = ''): string {
  const { hostObject, kind, status } = trouble;
  if (hostObject === undefined || kind === undefined) return look(trouble).command;
  return `${hostKubectl(status)} ${objectWords({ verb, kind, object: hostObject })}${more}`;
}

/** kubectl takes a kind in small letters. */
function objectWords({
  verb,
  kind,
  object,
  isList = false,
}: {
  verb: string;
  kind: string;
  object: string;
  isList?: boolean;
}): string {
  const { namespace, name } = splitKey(object);
  const words = [verb, kind.toLowerCase(), ...(isList ? [] : [name])];
  return `--namespace ${shellWord(namespace)} ${words.map(shellWord).join(' ')}`;
}
