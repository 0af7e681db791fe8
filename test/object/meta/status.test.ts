import { describe, expect, it } from 'vitest';
import * as status from '../../../src/object/meta/status.ts';
import { cases } from '../fixture.ts';

const core = { group: '', resource: 'endpoints' };
const grouped = { group: 'coordination.k8s.io', resource: 'leases' };
const made: Record<string, status.Status> = {
  alreadyExists: status.alreadyExists(core, 'x'),
  badRequest: status.badRequest('no'),
  conflict: status.conflict(core, 'x'),
  expired: status.expired('old'),
  forbidden: status.forbidden(core, 'x', 'no'),
  forbiddenAll: status.forbidden(core, '', 'no'),
  forbiddenPath: status.forbidden({ group: '', resource: '' }, '', 'no'),
  generateName: status.generateNameConflict(core, 'x-1', 1),
  internal: status.internalError('boom'),
  notFound: status.notFound(core, 'x'),
  notFoundGroup: status.notFound(grouped, 'x'),
  patch: status.patchDoesNotApply(),
  tooLarge: status.requestEntityTooLarge('limit is 3145728'),
  tooManyRequests: status.tooManyRequests('wait', 1),
  unauthorized: status.unauthorized(),
  unavailable: status.serviceUnavailable('later'),
};

describe('Status constructors', () => {
  const recorded = cases<{ name: string; status: object }>('statuses').filter(({ name }) => name !== 'path');

  it.each(recorded)('$name reads as apimachinery writes it', ({ name, status: expected }) => {
    expect(made[name]).toEqual({ kind: 'Status', apiVersion: 'v1', ...expected });
  });

  it('are all compared with a recorded Status', () => {
    expect(Object.keys(made)).toEqual(recorded.map(({ name }) => name));
  });

  it('name the precondition that failed', () => {
    const failed = status.preconditionFailed(core, 'x', { field: 'UID', wanted: 'a', actual: 'b' });
    expect(failed.message).toBe(
      'Operation cannot be fulfilled on endpoints "x": Precondition failed: UID in precondition: a, UID in object meta: b',
    );
  });

  it('carry the cause that clients look for after a future revision', () => {
    expect(status.tooLargeResourceVersion(9, 5)).toMatchObject({
      code: 504,
      reason: 'Timeout',
      message: 'Timeout: Too large resource version: 9, current: 5',
      details: { retryAfterSeconds: 1, causes: [{ reason: 'ResourceVersionTooLarge' }] },
    });
    expect(status.tooOldResourceVersion(3, 7)).toMatchObject({ code: 410, reason: 'Expired' });
  });
});
