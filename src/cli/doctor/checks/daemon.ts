// The checks of the machine that the daemon runs on: the daemon itself, its addresses, its data folder. From another machine than the
// daemon's most of them cannot be answered, and say so.

import { resolve } from 'node:path';
import { parseListen } from '../../../config/settings/text-rules.ts';
import { firstLines } from '../../../object/text/in-words.ts';
import { isRecord, recordsIn } from '../../../object/text/json.ts';
import { lostText } from '../../../sync/world/contest.ts';
import { auditSpaceWarnings } from '../../line/audit-space.ts';
import { CommandFault, type Context } from '../../line/context.ts';
import { systemFault } from '../../line/system-fault.ts';
import { askDaemon, localAddress } from '../../running/ask-daemon.ts';
import type { Check } from '../patient/check.ts';
import { couldNotCheck, type Finding, fault, ok, warning } from '../patient/finding.ts';
import type { Patient } from '../patient/patient.ts';

type DaemonFound =
  | { kind: 'daemon'; status: Record<string, unknown> }
  | { kind: 'nobody' | 'stranger'; message: string };

async function ask({ context, settings }: Patient): Promise<DaemonFound> {
  try {
    return { kind: 'daemon', status: (await askDaemon(context, localAddress(settings.listen), '/status')).value };
  } catch (thrown) {
    if (!(thrown instanceof CommandFault)) throw thrown;
    // Only an answer that is not one of a daemon has no error of the network behind it.
    return { kind: thrown.cause === undefined ? 'stranger' : 'nobody', message: thrown.message };
  }
}

const isWell: Check = {
  code: 'HW-701',
  needs: ['HW-101'],
  applies: (patient) => !patient.isBeforeInstallation,
  async look(patient) {
    const asked = await ask(patient);
    const { virtualClusterName, listen } = patient.settings;
    if (asked.kind !== 'daemon')
      return couldNotCheck(`no daemon answers on ${localAddress(listen)} of this machine`, {
        mend: `kubectl -n ${patient.ownNamespace} exec deploy/hostward -- node /opt/hostward/src/launcher/hostward.mjs doctor -c /etc/hostward/config/hostward.yaml`,
      });
    const { verdict } = asked.status;
    const other = otherDuty(patient, asked.status);
    if (other !== undefined)
      return warning(`the daemon on this machine serves ${other}, not "${virtualClusterName}"`, {
        mend: 'run doctor with the configuration of that daemon, or where the other daemon runs',
      });
    const { isWell: isFine, sentence } = isRecord(verdict) ? verdict : {};
    if (isFine === true) return ok(String(sentence));
    return fault(`the daemon is not well: ${String(sentence ?? 'it gives no verdict')}`, {
      details: troublesIn(asked.status),
      mend: patient.commandHere('status'),
    });
  },
};

/** What the daemon does that has the address, where it is not the one of this configuration. */
function otherDuty({ hasSync, settings }: Patient, { virtualCluster }: Record<string, unknown>): string | undefined {
  if (!hasSync || virtualCluster === settings.virtualClusterName) return undefined;
  return virtualCluster === undefined ? 'the management API alone' : `the virtual cluster "${String(virtualCluster)}"`;
}

/** `status` lists them all. */
const mostTroubles = 5;

/** The objects in the status that are not well, of each kind, each with its reason. */
function troublesIn(status: Record<string, unknown>): string[] {
  const slices = isRecord(status['endpointSlices']) ? status['endpointSlices'] : {};
  const rows = [status, slices].flatMap((kind) => {
    const fights = recordsIn(kind['contested']);
    // While its next repair waits, a contested object is in both lists.
    const others = recordsIn(kind['trouble']).filter(
      ({ object, state }) => state !== 'waiting/Contested' || !fights.some((one) => one['object'] === object),
    );
    return [
      ...others.map(({ object, state, message }) => `${object}: ${state}, ${message}`),
      ...fights.map(({ object, by, lost }) => {
        const why = typeof lost === 'string' ? lostText(lost) : `${by} keeps changing its copy`;
        return `${object}: Contested, ${why}`;
      }),
    ];
  });
  return firstLines(rows, mostTroubles);
}

const canListen: Check = {
  code: 'HW-702',
  needs: ['HW-101'],
  async look(patient) {
    const addresses = listens(patient);
    const ports = addresses.map(({ address }) => parseListen(address)?.port);
    const twice = addresses.find((_, index) => ports[index] !== 0 && ports.indexOf(ports[index]) !== index);
    if (twice !== undefined) {
      const others = addresses.filter(({ address }) => parseListen(address)?.port === parseListen(twice.address)?.port);
      const names = others.map(({ path }) => path).join(' and ');
      return fault(`${names} have one port, ${parseListen(twice.address)?.port}`, {
        mend: 'give each of them a port of its own',
      });
    }
    const { listen } = patient.settings;
    if (patient.isInPod && isLoopback(listen))
      return warning(
        `hostward.listen is ${listen}: the kubelet asks /healthz at the address of the pod, and gets no answer`,
        {
          mend: `set hostward.listen to 0.0.0.0:${parseListen(listen)?.port ?? ''}`,
        },
      );
    const asked = await ask(patient);
    if (asked.kind === 'stranger')
      return fault(asked.message, { mend: 'set hostward.listen to a free address, or end that program' });
    const other = asked.kind === 'daemon' ? otherDuty(patient, asked.status) : undefined;
    if (other !== undefined)
      return fault(
        `a daemon that serves ${other} has hostward.listen ${listen}: one with this configuration does not start`,
        {
          mend: 'set hostward.listen to a free address',
        },
      );
    return ok(addresses.map(({ path, address }) => `${path} ${address}`).join(', '));
  },
};

function listens({ settings }: Patient): { path: string; address: string }[] {
  const { listen, managementServer, direct } = settings;
  return [
    { path: 'hostward.listen', address: listen },
    { path: 'hostward.management.listen', address: managementServer?.listen },
    { path: 'hostward.management.ingressListen', address: managementServer?.ingressListen },
    { path: 'hostward.direct.listen', address: direct?.listen },
  ].flatMap(({ path, address }) => (address === undefined ? [] : [{ path, address }]));
}

function isLoopback(listen: string): boolean {
  return /^(127\.|localhost:|\[::1\])/.test(listen);
}

/** The folder holds the hashes of all keys. */
const othersBits = 0o077;

const hasDataFolder: Check = {
  code: 'HW-703',
  needs: ['HW-101'],
  applies: (patient) => patient.settings.managementServer !== undefined,
  async look({ context, settings, loaded }) {
    const { dataDir } = settings.managementServer as { dataDir: string };
    const folder = resolve(context.cwd, dataDir);
    const mode = await context.files.modeOf(folder);
    if (mode === undefined)
      return couldNotCheck(`the folder ${folder} is not on this machine`, { mend: 'run doctor where the daemon runs' });
    const closed = await whyClosed(context, folder);
    if (closed !== undefined) return closed;
    const space = await auditSpaceWarnings(context, loaded);
    if (space[0] !== undefined) return warning(space[0].sentence, { mend: space[0].fix });
    if ((mode & othersBits) !== 0)
      return warning(`the folder ${folder} has the mode ${mode.toString(8)}: others may look into it`, {
        mend: `chmod 700 ${folder}`,
      });
    return ok(`${folder} can be used`);
  },
};

async function whyClosed({ files }: Context, folder: string): Promise<Finding | undefined> {
  const another = 'name another folder as hostward.management.dataDir';
  try {
    await files.list(folder);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOTDIR')
      return fault(`hostward.management.dataDir is ${folder}, a file, and a folder is wanted`, { mend: another });
    return fault(systemFault(thrown)?.message ?? `the folder ${folder} cannot be read`, {
      mend: `chown -R the user of the daemon ${folder}, and chmod 700 ${folder}`,
    });
  }
  const why = await files.folderProblem(folder);
  return why === undefined ? undefined : fault(`nothing can be written to ${folder}: ${why}`, { mend: another });
}

export const daemonChecks: readonly Check[] = [isWell, canListen, hasDataFolder];
