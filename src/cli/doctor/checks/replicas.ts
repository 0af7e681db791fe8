// The checks of several replicas: only the holder of the lease may write.
import { leasesResource } from '../../../cluster/wire/scope.ts';
import { needsLease } from '../../../daemon/clusters/lease.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { Check } from '../patient/check.ts';
import { couldNotCheck, type Finding, fault, ok, unread, warning } from '../patient/finding.ts';

const areElected: Check = {
  code: 'HW-601',
  needs: ['HW-101'],
  applies: (patient) => patient.hasSync,
  async look({ settings }) {
    const { leaderElection, replicas } = settings;
    if (replicas > 1 && leaderElection === 'never')
      return fault(`${replicas} replicas, and hostward.leaderElection is never: all of them write`, {
        mend: 'set hostward.leaderElection to auto or always',
      });
    const who = needsLease(settings, false) ? 'only the holder of the lease writes' : 'one replica, no lease';
    return ok(`hostward.leaderElection is ${leaderElection}: ${who}`);
  },
};

const leaseFits: Check = {
  code: 'HW-602',
  needs: ['HW-301', 'HW-306'],
  applies: (patient) => patient.hasSync && !patient.isBeforeInstallation && patient.homeInstead === undefined,
  async look(patient) {
    const { hostNamespace: namespace, virtualClusterName } = patient.settings;
    const name = `hostward-${virtualClusterName}`;
    const isWanted = needsLease(patient.settings, false);
    const answer = await patient.cluster('host').client.get(leasesResource, { namespace, name });
    if (answer.kind === 'notFound')
      return isWanted
        ? couldNotCheck(`no daemon has taken the lease ${namespace}/${name} yet`, {
            mend: `${patient.commandHere('status')}   # where a daemon runs; it says why it does not write`,
            mayPass: true,
          })
        : ok('no lease, and none is wanted');
    if (answer.kind !== 'ok')
      return unread(`the lease ${namespace}/${name}`, answer, `kubectl -n ${namespace} get lease ${name} -o yaml`);
    const { holder, renewed, renewedMs, endsMs } = leaseOf(answer.object['spec']);
    const nowMs = patient.context.clock.wallTime().getTime();
    const madeMs = Date.parse(answer.object.metadata.creationTimestamp ?? '') || nowMs;
    const isRollout = nowMs - (renewedMs || madeMs) < rolloutMs;
    const isHeld = holder !== '' && endsMs > nowMs;
    const look = `kubectl -n ${namespace} get lease ${name} -o yaml`;
    if (isWanted && isHeld && renewedMs - nowMs > skewMs)
      return warning(`${holder} renewed the lease ${namespace}/${name} at ${renewed}, which is yet to come`, {
        mend: `timedatectl set-ntp true   # on the node of ${holder}`,
      });
    if (isWanted && isHeld) return ok(`held by ${holder}`);
    if (isWanted && holder === '')
      return nobodyWrites(`nobody holds the lease ${namespace}/${name}, so nobody writes`, { isRollout, look });
    if (isWanted) {
      const since = renewed === '' ? 'never renewed it' : `not renewed it since ${renewed}`;
      return nobodyWrites(`${holder} holds the lease ${namespace}/${name}, and has ${since}: nobody writes`, {
        isRollout,
        look,
      });
    }
    if (!isHeld) return ok('no lease is wanted, and nobody holds one');
    return fault(
      `${holder} holds the lease ${namespace}/${name}, and this configuration wants none: two daemons may write`,
      {
        mend: 'stop one of them, or set hostward.leaderElection to always for both',
      },
    );
  },
};

/** As long as a start waits for an API server. */
const rolloutMs = 5 * 60_000;

function nobodyWrites(says: string, { isRollout, look }: { isRollout: boolean; look: string }): Finding {
  return isRollout ? warning(says, { mend: look, mayPass: true }) : fault(says, { mend: look });
}

/** As HW-303 judges clocks. */
const skewMs = 60_000;

interface LeaseTimes {
  holder: string;
  /** As it is written there, '' if it is not. */
  renewed: string;
  renewedMs: number;
  endsMs: number;
}

function leaseOf(spec: unknown): LeaseTimes {
  const { holderIdentity, renewTime, leaseDurationSeconds } = isRecord(spec) ? spec : {};
  const renewed = typeof renewTime === 'string' ? renewTime : '';
  const renewedMs = Date.parse(renewed) || 0;
  return {
    holder: typeof holderIdentity === 'string' ? holderIdentity : '',
    renewed,
    renewedMs,
    endsMs: renewedMs + (Number(leaseDurationSeconds) || 0) * 1000,
  };
}

export const replicaChecks: readonly Check[] = [areElected, leaseFits];
