import { bearerOf, json, recordField, textField } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import type { Note, Project } from '../project.ts';

type Row = Readonly<Record<string, unknown>>;

const columnsOfNotes = new Set(['id', 'user_id', 'body', 'created_at']);

/** PostgREST's parameters that are no filter. */
const parameters = new Set(['select', 'columns', 'order', 'limit']);

/**
 * The table `notes` of docs/quickstart-supabase.md behind PostgREST's path: `user_id` defaults to `auth.uid()`, and row-level security
 * shows each user their own rows. Without a session there are none.
 */
export async function notes(project: Project, request: StandInRequest): Promise<Reply> {
  const { keys, notes: rows, publishableKey, now } = project;
  const { method, url, headers } = request;
  const bearer = bearerOf(headers);
  const claims = await keys.verify(bearer, 30).catch(() => undefined);
  if (!claims && bearer !== '' && bearer !== publishableKey) {
    return json(401, { code: 'PGRST301', details: null, hint: null, message: 'JWT expired or not valid' });
  }
  const given =
    '0' in request.body ? Object.keys(request.body).map((at) => recordField(request.body, at)) : [request.body];
  const strange = given.flatMap((row) => Object.keys(row)).find((name) => !columnsOfNotes.has(name));
  if (strange !== undefined) {
    const message = `Could not find the '${strange}' column of 'notes' in the schema cache`;
    return json(400, { code: 'PGRST204', details: null, hint: null, message });
  }
  if (method === 'POST') {
    const owners = given.map((row) => (row['user_id'] === undefined ? claims?.sub : row['user_id']));
    if (owners.some((owner) => owner === undefined || owner !== claims?.sub)) {
      const message = 'new row violates row-level security policy for table "notes"';
      return json(403, { code: '42501', details: null, hint: null, message });
    }
    const added = given.map((row, at): Note => {
      const id = (rows.at(-1)?.id ?? 0) + at + 1;
      return {
        id,
        user_id: claims?.sub ?? '',
        body: textField(row, 'body'),
        created_at: new Date(now()).toISOString(),
      };
    });
    rows.push(...added);
    return answer(201, added, request);
  }
  const filters = [...url.searchParams].filter(([name]) => !parameters.has(name));
  const selected = (url.searchParams.get('select') ?? '*').split(',').map((name) => name.trim());
  const unknown = [...selected, ...filters.map(([name]) => name)].find(
    (name) => name !== '*' && !columnsOfNotes.has(name),
  );
  if (unknown !== undefined) {
    const message = `column notes.${unknown} does not exist`;
    return json(400, { code: '42703', details: null, hint: null, message });
  }
  if (filters.some(([, value]) => !value.startsWith('eq.'))) {
    const message = 'Of the filters, the local stand-in knows eq alone.';
    return json(400, { code: 'PGRST100', details: null, hint: null, message });
  }
  const found = rows.filter(
    (row) =>
      row.user_id === claims?.sub &&
      filters.every(([name, value]) => `eq.${String((row as Row & Note)[name])}` === value),
  );
  if (method === 'DELETE') for (const row of found) rows.splice(rows.indexOf(row), 1);
  if (method === 'PATCH') for (const row of found) row.body = textField(request.body, 'body');
  return answer(200, url.searchParams.get('order')?.includes('.desc') === true ? found.toReversed() : found, request);
}

/** The columns that were asked for; one row alone where the client wants that, and after a change only on request. */
function answer(status: number, rows: readonly Note[], { method, url, headers }: StandInRequest): Reply {
  if (method !== 'GET' && headers['prefer']?.includes('return=representation') !== true)
    return { status: status === 201 ? 201 : 204, headers: {}, body: '' };
  const columns = (url.searchParams.get('select') ?? '*').split(',');
  const limit = Number(url.searchParams.get('limit') ?? rows.length);
  const shown = rows
    .slice(0, limit)
    .map((row) =>
      Object.fromEntries(Object.entries(row).filter(([name]) => columns[0] === '*' || columns.includes(name))),
    );
  if (headers.accept?.includes('vnd.pgrst.object') !== true) return json(status, shown);
  if (shown.length === 1) return json(status, shown[0]);
  const message = 'Cannot coerce the result to a single JSON object';
  return json(406, { code: 'PGRST116', details: `The result contains ${shown.length} rows`, hint: null, message });
}
