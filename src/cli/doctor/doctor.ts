// `hostward doctor`: asks both live clusters, and the management API, whether all that the daemon needs is there. In: a configuration.
// Out: one line for each check, and an exit code. Changes nothing, except with --active.
import { pause } from '../../clock.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import { durationMs } from '../line/duration.ts';
import type { Options } from '../line/parse-arguments.ts';
import { activeChecks } from './checks/active.ts';
import { hostChecks, virtualChecks } from './checks/clusters.ts';
import { configurationChecks } from './checks/configuration.ts';
import { daemonChecks } from './checks/daemon.ts';
import { mirrorChecks, ownerChecks } from './checks/host.ts';
import { installerChecks } from './checks/installer.ts';
import { managementChecks } from './checks/management.ts';
import { namespaceChecks, strayChecks } from './checks/namespaces.ts';
import { recordChecks } from './checks/records/records.ts';
import { replicaChecks } from './checks/replicas.ts';
import { rightsChecks } from './checks/rights.ts';
import { vclusterChecks } from './checks/vcluster.ts';
import { type Examination, examine } from './examine.ts';
import { grantsText } from './grants.ts';
import { lostChecks } from './lost.ts';
import type { Check } from './patient/check.ts';
import { type Code, codes, isCode } from './patient/codes.ts';
import type { CheckVerdict } from './patient/finding.ts';
import { Patient } from './patient/patient.ts';
import { type JudgedFindings, print } from './report.ts';

/** Often enough for a person who waits, and rarely enough for the servers. */
const againMs = 2_000;
/** A daemon takes its lease within seconds; whether one is being rolled out, and for how long, doctor cannot know. */
const rolloutMs = 10_000;

export async function doctor(context: Context, options: Options): Promise<ExitCode> {
  const suppressed = suppressedCodes(options);
  refuseBeforeAndAfter(options);
  const waitMs = durationMs('wait', options.text('wait') ?? '0');
  const stopping = new AbortController();
  const forgetStop = context.onSignal('leave', () => stopping.abort());
  try {
    const how = { waitMs, signal: stopping.signal };
    if (options.text('rights') !== undefined) return await printLackedRights(context, options, how);
    const judged = await untilWell(context, options, { ...how, suppressed });
    print(context.stdout, judged, options.choice('output') === 'json');
    return judged.exitCode;
  } finally {
    forgetStop();
  }
}

/** Before an installation no daemon could copy the test objects. */
function refuseBeforeAndAfter(options: Options): void {
  const before = (['pre', 'manifests'] as const).find((one) => options.has(one));
  if (before === undefined || !options.has('active')) return;
  throw new CommandFault(
    exitCodes.usage,
    `--${before} asks before an installation, and --active proves one that runs`,
    {
      hint: 'leave out one of the two',
    },
  );
}

interface Waiting {
  waitMs: number;
  signal: AbortSignal;
}

/** For `kubectl auth reconcile -f -`: the rights that are missing, and nothing else. With --wait it asks again while a cluster is silent. */
async function printLackedRights(context: Context, options: Options, { waitMs, signal }: Waiting): Promise<ExitCode> {
  const { clock } = context;
  const endMs = clock.now() + waitMs;
  const side = options.choice('rights') as 'host' | 'virtual';
  for (;;) {
    const { user, rights, name, obstacle, isUnanswered } = await lackedRights(context, options, { side, signal });
    const leftMs = endMs - clock.now();
    if (isUnanswered && leftMs > 0 && !signal.aborted) {
      await pause(clock, Math.min(againMs, leftMs), signal);
      continue;
    }
    if (rights.length === 0) {
      context.stderr.write(
        `no right is known to be missing in the ${side} cluster${obstacle && `; but ${obstacle}`}\n`,
      );
      return obstacle === '' ? exitCodes.fine : exitCodes.environment;
    }
    if (user === undefined)
      throw new CommandFault(exitCodes.environment, `the ${side} cluster does not say whose credentials these are`, {
        hint: 'grant what hostward doctor lists to the user of the kubeconfig',
      });
    context.stdout.write(grantsText({ user, name, lacked: rights }));
    return exitCodes.fine;
  }
}

async function lackedRights(
  context: Context,
  options: Options,
  { side, signal }: { side: 'host' | 'virtual'; signal: AbortSignal },
) {
  const patient = new Patient(context, options, signal);
  try {
    const { findings } = await examine(patient, [
      ...configurationChecks,
      ...virtualChecks,
      ...hostChecks,
      ...namespaceChecks,
      ...rightsChecks,
      ...installerChecks,
      ...lostChecks,
    ]);
    const { user, rights } = patient.lacked.get(side) ?? { user: undefined, rights: [] };
    const first = (wanted: CheckVerdict) => findings.find(({ verdict }) => verdict === wanted);
    const obstacle = first('fault') ?? first('couldNotCheck');
    return {
      user,
      // What a cluster has said before its silence is not all.
      rights: patient.silent.has(side) ? [] : rights,
      // A configuration of the management API alone names none.
      name: (patient.hasSync && patient.settings.virtualClusterName) || 'management',
      obstacle: obstacle === undefined ? '' : `${obstacle.code}: ${obstacle.says}`,
      isUnanswered: patient.silent.has(side) || findings.some((one) => one.isUnanswered),
    };
  } finally {
    await patient.close();
  }
}

type JudgedRun = JudgedFindings & { exitCode: ExitCode };

/** Looks again until nothing is at fault, and for a moment more where a rollout may change something, or until the time is over. */
async function untilWell(
  context: Context,
  options: Options,
  how: Waiting & { suppressed: ReadonlySet<Code> },
): Promise<JudgedRun> {
  const { clock } = context;
  const endMs = clock.now() + how.waitMs;
  let fineUntilMs: number | undefined;
  for (;;) {
    const judged = await once(context, options, how);
    const isFine = judged.exitCode === exitCodes.fine && !judged.findings.some(({ isUnanswered }) => isUnanswered);
    if (isFine && !judged.findings.some(({ mayPass }) => mayPass)) return judged;
    fineUntilMs = isFine ? (fineUntilMs ?? clock.now() + rolloutMs) : undefined;
    const leftMs = Math.min(endMs, fineUntilMs ?? endMs) - clock.now();
    if (leftMs <= 0 || how.signal.aborted) return judged;
    await pause(clock, Math.min(againMs, leftMs), how.signal);
  }
}

async function once(
  context: Context,
  options: Options,
  { suppressed, signal }: { suppressed: ReadonlySet<Code>; signal: AbortSignal },
): Promise<JudgedRun> {
  const patient = new Patient(context, options, signal);
  try {
    const { findings, hidden } = await examine(patient, allChecks);
    const counting = findings.filter(({ code }) => !suppressed.has(code));
    const exitCode = exitCodeOf(counting, { patient, isStrict: options.has('strict') });
    return {
      findings: counting,
      hidden,
      suppressed: findings.filter(({ code }) => suppressed.has(code)),
      exitCode,
      isInterrupted: signal.aborted,
    };
  } finally {
    await patient.close();
  }
}

function exitCodeOf(
  findings: Examination['findings'],
  { patient, isStrict }: { patient: Patient; isStrict: boolean },
): ExitCode {
  // Nobody knows what the silent cluster, or the checks that did not run, would have said.
  if (patient.silent.size > 0 || patient.stopping.aborted) return exitCodes.environment;
  const counts = (verdict: string): boolean => verdict === 'fault' || (isStrict && verdict === 'warning');
  return findings.some(({ verdict }) => counts(verdict)) ? exitCodes.input : exitCodes.fine;
}

function suppressedCodes(options: Options): ReadonlySet<Code> {
  return new Set(
    options.texts('suppress').map((text) => {
      const code = text.toUpperCase();
      if (isCode(code)) return code;
      throw new CommandFault(exitCodes.usage, `--suppress wants a code of doctor, found "${text}"`, {
        hint: `the codes are ${codes[0]} to ${codes.at(-1)}; hostward docs doctor explains each of them`,
      });
    }),
  );
}

/** Every check, in the order in which they run: what others need comes first. */
export const allChecks: readonly Check[] = [
  ...configurationChecks,
  ...virtualChecks,
  ...hostChecks,
  ...namespaceChecks,
  ...ownerChecks,
  ...rightsChecks,
  ...installerChecks,
  ...mirrorChecks,
  ...strayChecks,
  ...vclusterChecks,
  ...replicaChecks,
  ...daemonChecks,
  ...managementChecks,
  ...recordChecks,
  ...activeChecks,
  ...lostChecks,
];
