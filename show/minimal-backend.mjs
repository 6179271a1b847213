// A complete app with sign-in through Supabase. README.md in this folder describes how to run it.
import express from 'express';
import { backendAuth, currentSession } from 'express-auth-adapters/backend';

const app = express();
app.use(backendAuth({ protectedRoutes: '/account(.*)' }));
app.get('/account', (req, res) => {
  res.json(currentSession(req, 'backend').user);
});
app.listen(process.env.PORT ?? 3000);
