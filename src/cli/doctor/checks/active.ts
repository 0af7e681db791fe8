// The checks of `--active`: one proof, judged step by step.
import { rulesOf, sliceKindOf } from '../../../daemon/options/rules-of.ts';
import { keyOf } from '../../../object/meta/object.ts';
import { isRecord } from '../../../object/text/json.ts';
import { CommandFault } from '../../line/context.ts';
import { askDaemon, localAddress } from '../../running/ask-daemon.ts';
import { prove, type SyncProof, type SyncProofOptions } from '../active/proof.ts';
import { type TestPlace, testAddresses } from '../active/test-objects.ts';
import type { Check } from '../patient/check.ts';
import { couldNotCheck, type Finding, fault, interrupted, ok } from '../patient/finding.ts';
import type { Patient } from '../patient/patient.ts';

type Attempt = { kind: 'proof'; proof: SyncProof } | { kind: 'impossible'; finding: Finding };

const attempts = new WeakMap<Patient, Promise<Attempt>>();

/** The five checks look at one attempt. */
function attemptOf(patient: Patient): Promise<Attempt> {
  const known = attempts.get(patient) ?? attempt(patient);
  attempts.set(patient, known);
  return known;
}

async function attempt(patient: Patient): Promise<Attempt> {
  const { settings, context, stopping } = patient;
  const impossible = (says: string, mend: string): Attempt => ({
    kind: 'impossible',
    finding: couldNotCheck(says, { mend }),
  });
  if (stopping.aborted) return impossible('interrupted before anything was made', 'run doctor again');
  if (patient.lost.size > 0) return impossible('a cluster answers no more, so nothing was made', 'run doctor again');
  const namespace = testNamespace(patient);
  if (namespace === undefined)
    return impossible(
      'only mapped namespaces are synced, and every mapping is a pattern',
      'map one namespace by its whole name',
    );
  const { translation, policy } = rulesOf(settings);
  const addresses = testAddresses(policy, settings.addressPolicy.allow);
  if (addresses === undefined)
    return impossible(
      'the address policy refuses every address that doctor could publish',
      'allow 192.0.2.0/24 in hostward.addressPolicy',
    );
  const name = `hostward-doctor-${Math.floor(context.random() * 36 ** 6)
    .toString(36)
    .padStart(6, '0')}`;
  const place: TestPlace = { namespace, name };
  const key = keyOf(namespace, name);
  const awaited = [
    { kind: 'Endpoints' as const, isOn: settings.endpointsEnabled, at: translation.placement },
    {
      kind: 'EndpointSlice' as const,
      isOn: settings.endpointSlices.enabled,
      at: rulesOf(settings, undefined, sliceKindOf(settings)).translation.placement,
    },
  ].flatMap(({ kind, isOn, at }): SyncProofOptions['awaited'] => {
    const copy = at.placeOf(key);
    return isOn && copy !== undefined ? [{ kind, place: copy }] : [];
  });
  const virtual = patient.cluster('virtual').connection;
  const host = patient.cluster('host').connection;
  const whyNot = () => saidOf(patient, key);
  const proof = await prove({
    ...{ virtual, host, clock: context.clock, signal: stopping, place, addresses, awaited, whyNot },
  });
  return { kind: 'proof', proof };
}

/** What the daemon on this machine says of the objects of a name, by kind; nothing where none answers. */
async function saidOf({ context, settings }: Patient, key: string): Promise<ReadonlyMap<string, string>> {
  const path = `/status?object=${encodeURIComponent(key)}`;
  const answer = await askDaemon(context, localAddress(settings.listen), path).catch((thrown) => {
    if (thrown instanceof CommandFault) return undefined;
    throw thrown;
  });
  const told = [answer?.value, answer?.value['alsoEndpointSlice']].filter(isRecord);
  const bad = told.filter(({ state }) => typeof state === 'string' && state !== 'inSync');
  return new Map(
    bad.map(({ kind, state, message }) => [
      String(kind),
      [state, message].filter((part) => typeof part === 'string').join(': '),
    ]),
  );
}

/** A namespace of the virtual cluster whose objects come to the host. */
function testNamespace({ settings }: Patient): string | undefined {
  const { enabled, byName, mappingsOnly } = settings.namespaces;
  if (!enabled || !mappingsOnly) return 'default';
  return Object.keys(byName).find((name) => !name.includes('*'));
}

const isActive = (patient: Patient): boolean => patient.hasSync && patient.options.has('active');

async function judge(patient: Patient, look: (proof: SyncProof) => Finding): Promise<Finding> {
  const tried = await attemptOf(patient);
  return tried.kind === 'impossible' ? tried.finding : look(tried.proof);
}

const made: Check = {
  code: 'HW-901',
  needs: ['HW-201', 'HW-301', 'HW-305', 'HW-306'],
  applies: isActive,
  look: (patient) =>
    judge(patient, ({ notMade, isInterrupted }) => {
      if (notMade === undefined) return isInterrupted ? interrupted : ok('made and deleted again');
      const said = 'message' in notMade ? notMade.message : notMade.kind;
      if (notMade.kind === 'forbidden')
        return couldNotCheck(`the test objects may not be made: ${said}`, {
          mend: 'give the kubeconfig of an administrator of the virtual cluster with --virtual-kubeconfig FILE',
        });
      const isRefused = notMade.kind === 'refused';
      return fault(`the test objects cannot be made: ${said}`, {
        mend: isRefused
          ? admitted(testNamespace(patient) ?? 'default', said)
          : `${patient.commandHere('doctor')}   # without --active, for the cause`,
      });
    }),
};

/** The server has said what refuses the write: a quota, a policy or a webhook. */
function admitted(namespace: string, said: string): string {
  return said.includes('quota')
    ? `kubectl -n ${namespace} describe resourcequota   # raise it, or remove what counts and is not needed`
    : 'change the policy or webhook that the message names';
}

function arrival(kind: 'Endpoints' | 'EndpointSlice') {
  return (patient: Patient): Promise<Finding> =>
    judge(patient, ({ arrived, because, isInterrupted }) => {
      const took = arrived.get(kind);
      if (took !== undefined) return ok(`after ${milliseconds(took)}`);
      if (isInterrupted) return interrupted;
      const why = because.get(kind);
      return fault(`no copy of the ${kind} came to the host within 4 s`, {
        ...(why !== undefined && { details: [`the daemon says: ${why}`] }),
        mend: /^refused|webhook/.test(why ?? '')
          ? admitted(patient.settings.hostNamespace, why ?? '')
          : `${patient.commandHere('status')}   # does the daemon run, and what does it say`,
      });
    });
}

const endpointsCame: Check = {
  code: 'HW-902',
  needs: ['HW-901'],
  applies: (patient) => isActive(patient) && patient.settings.endpointsEnabled,
  look: arrival('Endpoints'),
};

const sliceCame: Check = {
  code: 'HW-903',
  needs: ['HW-901'],
  applies: (patient) => isActive(patient) && patient.settings.endpointSlices.enabled,
  look: arrival('EndpointSlice'),
};

const changeCame: Check = {
  code: 'HW-904',
  needs: ['HW-901', 'HW-902', 'HW-903'],
  applies: isActive,
  look: (patient) =>
    judge(patient, ({ changed, isInterrupted }) => {
      const late = [...changed].filter(([, took]) => took === undefined).map(([kind]) => kind);
      if (changed.size > 0 && late.length === 0)
        return ok(`after ${milliseconds(Math.max(...[...changed.values()].map((ms) => ms ?? 0)))}`);
      if (isInterrupted || changed.size === 0) return interrupted;
      return fault(`a changed address did not come to the host within 2 s: ${late.join(', ')}`, {
        mend: patient.commandHere('status'),
      });
    }),
};

const nothingLeft: Check = {
  code: 'HW-905',
  isLastWord: true,
  needs: ['HW-201', 'HW-301', 'HW-305', 'HW-306'],
  applies: isActive,
  look: (patient) =>
    judge(patient, ({ stayed, left }) => {
      if (left.length > 0)
        return fault('test objects are left behind', {
          details: left,
          mend: 'kubectl delete service,endpoints,endpointslices -l app.kubernetes.io/managed-by=hostward-doctor   # in both clusters',
        });
      if (stayed.length > 0)
        return fault('copies stayed on the host when their objects were deleted; doctor has deleted them', {
          details: stayed,
          mend: `${patient.commandHere('status')}   # does the daemon run, and what does it say`,
        });
      return ok('objects and copies are gone');
    }),
};

function milliseconds(ms: number): string {
  return `${Math.round(ms)} ms`;
}

export const activeChecks: readonly Check[] = [made, endpointsCame, sliceCame, changeCame, nothingLeft];
