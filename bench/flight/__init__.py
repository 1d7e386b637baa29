"""How fast are batches written and read over Arrow Flight, compared with a bare Flight server that keeps them in memory?"""
