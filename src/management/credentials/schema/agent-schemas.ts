// The schemas of what agents read and send: revocations of direct tokens, and reports of direct endpoints.
import type { Schemas } from '../../../apiserver/kinds/kind.ts';
import { objectSchema, textField } from '../../keys/schema/meta-schemas.ts';
import { managementGroup, reportResource } from '../../scope/request.ts';

export const revocationSchemaName = 'management.platform.v1.Revocation';
const reportSchemaName = 'management.platform.v1.AgentReport';

export const reportNames = {
  group: managementGroup,
  version: 'v1',
  kind: 'AgentReport',
  plural: reportResource,
  singular: 'agentreport',
  schema: reportSchemaName,
};

const count = (description: string) => ({ type: 'integer', format: 'int64', description });

export const agentSchemas: Schemas = {
  [revocationSchemaName]: objectSchema(
    'Ends direct tokens of one access key: those of a lower generation. Its name is the uid of the key. Read-only.',
    {
      spec: {
        type: 'object',
        description: 'Which tokens have ended.',
        properties: {
          generation: count('Tokens of a lower generation are dead. It only rises.'),
          expires: textField('When all these tokens have expired, as RFC 3339 has it.'),
        },
      },
    },
  ),
  [reportSchemaName]: objectSchema(
    'What a direct endpoint did: lines of its audit log, and uses of access keys. It has no name and is not kept.',
    {
      spec: {
        type: 'object',
        description: 'The report. It is taken as a whole or not at all.',
        required: ['cluster'],
        properties: {
          cluster: textField('Cluster of the endpoint.'),
          entries: {
            type: 'array',
            description: 'Lines for the audit log, at most 500.',
            items: { type: 'object', description: 'One line: time, id, stage and the members of that stage.' },
          },
          uses: {
            type: 'array',
            description: 'Uses of access keys whose tokens reach the cluster, at most 1000.',
            items: { type: 'object', description: 'The uid of a key, and the time of its last use.' },
          },
        },
      },
      status: {
        type: 'object',
        description: 'What was taken. Read-only.',
        'x-always': ['entries', 'uses'],
        properties: { entries: count('Number of lines.'), uses: count('Number of uses.') },
      },
    },
  ),
};
