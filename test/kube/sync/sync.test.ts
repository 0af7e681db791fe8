// The live suites of sync between two real API servers with kube-controller-manager.
import { afterAll, beforeAll, describe, vi } from 'vitest';
import { addressesSuite } from '../../contract/sync/addresses.ts';
import { countingSuite } from '../../contract/sync/counting.ts';
import { goldenSuite } from '../../contract/sync/golden.ts';
import { goldenSlicesSuite } from '../../contract/sync/golden-slices.ts';
import { leadershipSuite } from '../../contract/sync/leadership.ts';
import { mappingSuite } from '../../contract/sync/mapping.ts';
import { massDeleteSuite } from '../../contract/sync/mass-delete.ts';
import { missedSuite } from '../../contract/sync/missed.ts';
import { ownerSuite } from '../../contract/sync/owner.ts';
import { racesSuite } from '../../contract/sync/races.ts';
import { referencesSuite } from '../../contract/sync/references.ts';
import { rightsSuite } from '../../contract/sync/rights.ts';
import { rotationSuite } from '../../contract/sync/rotation.ts';
import { slicesSuite } from '../../contract/sync/slices.ts';
import { twoWaySuite } from '../../contract/sync/two-way.ts';
import { everyVerbSuite } from '../../contract/sync-stage/every-verb.ts';
import { outagesSuite } from '../../contract/sync-stage/outages.ts';
import { processSuite } from '../../contract/sync-stage/process.ts';
import { kubeAssets } from '../start/assets.ts';
import { shippedRolesSuite } from './shipped-roles.ts';
import { type RealBackend, startRealBackend } from './sync-backend.ts';
import { takenRightsSuite } from './taken-rights.ts';

const assets = kubeAssets();

// Four Go programs share the machine with the tests.
vi.setConfig({ testTimeout: 60_000 });

describe.skipIf(assets.found === undefined)(
  `live sync between two real API servers${assets.found === undefined ? ` (skipped: ${assets.reason})` : ''}`,
  () => {
    let backend: RealBackend;
    beforeAll(async () => {
      backend = await startRealBackend();
    }, 120_000);
    afterAll(() => backend?.stop());

    goldenSuite(() => backend);
    countingSuite(() => backend);
    racesSuite(() => backend);
    mappingSuite(() => backend);
    ownerSuite(() => backend);
    rightsSuite(() => backend);
    addressesSuite(() => backend);
    slicesSuite(() => backend);
    referencesSuite(() => backend);
    goldenSlicesSuite(() => backend);
    twoWaySuite(() => backend);
    leadershipSuite(() => backend);
    massDeleteSuite(() => backend);
    missedSuite(() => backend);
    rotationSuite(() => backend);
    outagesSuite(() => backend);
    processSuite(() => backend);
    everyVerbSuite(() => backend);
    takenRightsSuite(() => backend, assets.found?.folder ?? '');
    // The last one: it looks back at what all of them did.
    shippedRolesSuite(() => backend.host.used());
  },
);
