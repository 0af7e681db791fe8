// The live suites of sync with disturbances, between two embedded API servers: other clients write, servers give wrong answers,
// rights are missing, and daemons take turns. test/kube/sync/sync.test.ts runs the same suites between real servers.
import { afterAll, beforeAll, describe } from 'vitest';
import { leadershipSuite } from '../../contract/sync/leadership.ts';
import { massDeleteSuite } from '../../contract/sync/mass-delete.ts';
import { missedSuite } from '../../contract/sync/missed.ts';
import { racesSuite } from '../../contract/sync/races.ts';
import { rightsSuite } from '../../contract/sync/rights.ts';
import { rotationSuite } from '../../contract/sync/rotation.ts';
import { outageLogSuite } from '../../contract/sync-stage/outage-log.ts';
import { outagesSuite } from '../../contract/sync-stage/outages.ts';
import { processSuite } from '../../contract/sync-stage/process.ts';
import { type EmbeddedBackend, startEmbeddedBackend } from './embedded-backend.ts';

describe('live sync between two embedded API servers, disturbed', () => {
  let backend: EmbeddedBackend;
  beforeAll(async () => {
    backend = await startEmbeddedBackend();
  });
  afterAll(() => backend.stop());

  racesSuite(() => backend);
  rightsSuite(() => backend);
  leadershipSuite(() => backend);
  massDeleteSuite(() => backend);
  missedSuite(() => backend);
  rotationSuite(() => backend);
  outagesSuite(() => backend);
  outageLogSuite(() => backend);
  processSuite(() => backend);
});
