import express from 'express';
import type { NextFunction, Request, Response } from 'express';
import request from 'supertest';
import { AuthError, messageOf } from 'express-auth-adapters';
import { errorTable } from '../../lib/error-table.ts';
import type { AuthErrorCode } from '../../lib/errors.ts';

/** What a handler for http-errors reads. */
interface HttpError extends Error {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly expose: boolean;
}

const codes = Object.keys(errorTable) as AuthErrorCode[];

describe('an AuthError', () => {
  it.each(codes)('has the status of %s under both names, and may be shown', (code) => {
    const error = new AuthError(code);
    expect(error).toMatchObject({
      status: errorTable[code].status,
      statusCode: error.status,
      expose: true,
      headers: {},
    });
  });

  it('names Retry-After, Allow and WWW-Authenticate as headers', () => {
    const error = new AuthError('provider_unavailable', {
      retryAfter: 0.2,
      allow: ['GET', 'POST'],
      challenge: 'Bearer scope="read"',
    });
    expect(error.headers).toEqual({
      'Retry-After': '1',
      Allow: 'GET, POST',
      'WWW-Authenticate': 'Bearer scope="read"',
    });
  });

  it('has no header for a time to wait that is no number', () => {
    for (const retryAfter of [NaN, -1, Infinity]) {
      expect(new AuthError('rate_limited', { retryAfter }).headers).toEqual({});
    }
  });

  it('keeps line breaks out of its headers', () => {
    const error = new AuthError('unauthenticated', { challenge: 'Bearer\r\nSet-Cookie: a=b', allow: ['GET\n'] });
    expect(Object.values(error.headers).join('')).not.toMatch(/[\r\n]/);
  });
});

describe('error handlers that know nothing of this package', () => {
  function application(error: AuthError): express.Express {
    const app = express();
    app.get('/', () => {
      throw error;
    });
    return app;
  }

  it('let Express’ default handler answer a 503 with Retry-After', async () => {
    const app = application(new AuthError('provider_unavailable', { retryAfter: 7 }));
    const response = await request(app).get('/').expect(503);
    expect(response.headers['retry-after']).toBe('7');
  });

  it('let Express’ default handler answer a 401 with its challenge', async () => {
    const app = application(new AuthError('unauthenticated', { challenge: 'Bearer' }));
    const response = await request(app).get('/').expect(401);
    expect(response.headers['www-authenticate']).toBe('Bearer');
  });

  it('let a handler for http-errors answer by statusCode, headers, expose and message', async () => {
    const app = application(new AuthError('rate_limited', { retryAfter: 3 }));
    app.use((error: HttpError, _req: Request, res: Response, next: NextFunction) => {
      if (!error.expose) {
        next(error);
        return;
      }
      res.status(error.statusCode).set(error.headers).send(error.message);
    });
    const response = await request(app).get('/').expect(429, errorTable.rate_limited.message);
    expect(response.headers['retry-after']).toBe('3');
  });
});

describe('messageOf', () => {
  it.each(codes)('returns the message of %s', (code) => {
    expect(messageOf(code)).toBe(new AuthError(code).message);
  });

  it.each(['', 'no_such_code', 'constructor', '__proto__', 'toString', undefined, null, 7, ['forbidden'], {}])(
    'returns a general message for %p',
    (code) => {
      expect(messageOf(code)).toBe('Something went wrong. Please try again.');
    },
  );
});

it.each([
  ['forbiden', 'AuthError has no code "forbiden": did you mean forbidden?'],
  ['signup-disabled', 'AuthError has no code "signup-disabled": did you mean signup_disabled?'],
  ['__proto__', /^AuthError has no code "__proto__": the codes are .*docs\/errors\.md$/],
  ['toString', /^AuthError has no code "toString"/],
  [undefined, /^AuthError has no code "undefined"/],
  [403, /^AuthError has no code "403"/],
  [Symbol('x'), /^AuthError has no code/],
])(
  'an AuthError of an unknown code, such as from JavaScript, is a TypeError that names the nearest one: %p',
  (code, message) => {
    const make = () => new AuthError(code as AuthErrorCode);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  },
);
